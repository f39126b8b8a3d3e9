/**
 * The frames of SQLite's write-ahead log (sqlite.org/fileformat2.html, section 4), as recovery after a crash reads them.
 */
import { readSync, writeSync } from "node:fs"

const headerSize = 32
const frameHeaderSize = 24

/** The magic numbers, which say in which byte order checksums are made. */
const littleEndian = 0x377f0682
const bigEndian = 0x377f0683

const formatVersion = 3_007_000

/** Where `PRAGMA user_version` is on the first page of a database. */
const userVersionAt = 60

type Sums = readonly [number, number]

/** Adds some bytes to a checksum. Each frame continues that of the frame before it. */
const addTo = ([first, second]: Sums, bytes: DataView, length: number, isLittle: boolean): Sums => {
  let a = first
  let b = second
  for (let at = 0; at < length; at += 8) {
    a = (a + bytes.getUint32(at, isLittle) + b) >>> 0
    b = (b + bytes.getUint32(at + 4, isLittle) + a) >>> 0
  }
  return [a, b]
}

interface Header {
  readonly pageSize: number
  readonly isLittle: boolean
  readonly salt: Sums
  readonly sums: Sums
}

/** What a header says; null when it is not one: SQLite then takes the log for empty. */
const headerOf = (bytes: DataView): Header | null => {
  const magic = bytes.getUint32(0)
  if ((magic !== littleEndian && magic !== bigEndian) || bytes.getUint32(4) !== formatVersion) return null
  const isLittle = magic === littleEndian
  const [first, second] = addTo([0, 0], bytes, 24, isLittle)
  if (bytes.getUint32(24) !== first || bytes.getUint32(28) !== second) return null
  return {
    pageSize: bytes.getUint32(8),
    isLittle,
    salt: [bytes.getUint32(16), bytes.getUint32(20)],
    sums: [first, second]
  }
}

const readHeader = (descriptor: number): Header | "empty" | null => {
  const bytes = new DataView(new ArrayBuffer(headerSize))
  return readSync(descriptor, bytes, 0, headerSize, 0) < headerSize ? "empty" : headerOf(bytes)
}

/** Whether a log has a header that SQLite can read, or nothing in it. A torn end is normal after a crash. */
export const isReadable = (descriptor: number): boolean => readHeader(descriptor) !== null

/**
 * Writes the log over itself as far as its checksums are right, so that a sync has all of it to write: after one that
 * failed, the system may take pages for written that never reached the disk. Nothing else may write the log during that.
 * Returns the `user_version` that the frames set last; null when they set none.
 */
export const rewrite = (descriptor: number): number | null => {
  const header = readHeader(descriptor)
  if (header === null || header === "empty") return null
  const { isLittle, pageSize, salt } = header
  const copy = new DataView(new ArrayBuffer(headerSize))
  readSync(descriptor, copy, 0, headerSize, 0)
  writeSync(descriptor, copy, 0, headerSize, 0)

  const size = frameHeaderSize + pageSize
  const frame = new DataView(new ArrayBuffer(size))
  const page = new DataView(frame.buffer, frameHeaderSize)
  let { sums } = header
  let userVersion: number | null = null
  for (let at = headerSize; readSync(descriptor, frame, 0, size, at) === size; at += size) {
    if (frame.getUint32(8) !== salt[0] || frame.getUint32(12) !== salt[1]) break
    sums = addTo(addTo(sums, frame, 8, isLittle), page, pageSize, isLittle)
    if (frame.getUint32(16) !== sums[0] || frame.getUint32(20) !== sums[1]) break
    writeSync(descriptor, frame, 0, size, at)
    if (frame.getUint32(0) === 1) userVersion = page.getUint32(userVersionAt)
  }
  return userVersion
}
