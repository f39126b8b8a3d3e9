/**
 * Reads the frames of SQLite's write-ahead log like SQLite's recovery after a crash (sqlite.org/fileformat2.html,
 * section 4).
 */
import { fstatSync, readSync, writeSync } from "node:fs"

const headerSize = 32
const frameHeaderSize = 24

/** Magic numbers of the log's header, which determine the byte order of checksums. */
const littleEndian = 0x377f0682
const bigEndian = 0x377f0683

const formatVersion = 3_007_000

type Sums = readonly [number, number]

/** Adds bytes to a checksum. A frame's checksum continues that of the previous frame. */
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

/** Parses a header; null if it is invalid. SQLite then treats the log as empty. */
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

/**
 * Whether a header was never synced. SQLite syncs a new header before it writes the first frame, so a power cut before
 * that may leave a header of zeros without frames.
 */
const isUnsynced = (descriptor: number, bytes: DataView): boolean =>
  fstatSync(descriptor).size === headerSize && new Uint8Array(bytes.buffer).every((byte) => byte === 0)

const readHeader = (descriptor: number, bytes: DataView): Header | "empty" | null => {
  if (readSync(descriptor, bytes, 0, headerSize, 0) < headerSize || isUnsynced(descriptor, bytes)) return "empty"
  return headerOf(bytes)
}

/** Whether a log is empty or has a header that SQLite can read. A torn end is normal after a crash. */
export const isReadable = (descriptor: number): boolean =>
  readHeader(descriptor, new DataView(new ArrayBuffer(headerSize))) !== null

/** The part of a log that SQLite ignores, because a frame before it is damaged. */
export interface LostEnd {
  /** Number of frames from the last readable transaction to the end of the last transaction behind the damage. */
  readonly frames: number
  /** Where the readable part ends, in bytes. */
  readonly from: number
}

/**
 * Finds transactions behind a damaged frame; null if there is none.
 *
 * A frame behind the damage belongs to this log if it has its salt, which changes when the log begins again. The number
 * in a frame's header shows that a transaction ends there. A power cut usually leaves no such frame: the log ends in
 * the transaction that was being written, or older frames with another salt follow. Damage to the very last frame
 * looks like that, too.
 */
export const lostEnd = (descriptor: number): LostEnd | null => {
  const start = new DataView(new ArrayBuffer(headerSize))
  const header = readHeader(descriptor, start)
  if (header === null || header === "empty") return null
  const { isLittle, pageSize, salt } = header
  const size = frameHeaderSize + pageSize
  const frame = new DataView(new ArrayBuffer(size))
  const page = new DataView(frame.buffer, frameHeaderSize)
  let { sums } = header
  let [isReadable, index, good, last] = [true, 0, 0, 0]
  for (; readSync(descriptor, frame, 0, size, headerSize + index * size) === size;) {
    index++
    const isOwn = frame.getUint32(8) === salt[0] && frame.getUint32(12) === salt[1]
    if (isReadable) {
      sums = addTo(addTo(sums, frame, 8, isLittle), page, pageSize, isLittle)
      isReadable = isOwn && frame.getUint32(16) === sums[0] && frame.getUint32(20) === sums[1]
      if (isReadable && isCommit(frame)) good = index
    } else if (isOwn && isCommit(frame)) last = index
  }
  return last === 0 ? null : { frames: last - good, from: headerSize + good * size }
}

/** Whether a frame ends a transaction: then its header has the size of the database after it, in pages. */
const isCommit = (frame: DataView): boolean => frame.getUint32(4) !== 0

type Visit = (bytes: DataView, at: number) => void

/** Visits the header and all frames up to the first wrong checksum. Returns an identifier of the end position. */
const walk = (descriptor: number, visit: Visit): string => {
  const start = new DataView(new ArrayBuffer(headerSize))
  const header = readHeader(descriptor, start)
  if (header === null || header === "empty") return ""
  visit(start, 0)
  const { isLittle, pageSize, salt } = header
  const size = frameHeaderSize + pageSize
  const frame = new DataView(new ArrayBuffer(size))
  const page = new DataView(frame.buffer, frameHeaderSize)
  let { sums } = header
  let at = headerSize
  for (; readSync(descriptor, frame, 0, size, at) === size; at += size) {
    if (frame.getUint32(8) !== salt[0] || frame.getUint32(12) !== salt[1]) break
    const next = addTo(addTo(sums, frame, 8, isLittle), page, pageSize, isLittle)
    if (frame.getUint32(16) !== next[0] || frame.getUint32(20) !== next[1]) break
    sums = next
    visit(frame, at)
  }
  return [...salt, at, ...sums].join()
}

/** Returns an identifier of the position up to which the log can be read back. */
export const end = (descriptor: number): string => walk(descriptor, () => {})

/**
 * Rewrites the log in place, up to the first frame with a wrong checksum, so that the next sync writes all of it. The
 * caller must prevent other writes. Returns an identifier of the end position.
 */
export const rewrite = (descriptor: number): string =>
  walk(descriptor, (bytes, at) => {
    const written = writeSync(descriptor, bytes, 0, bytes.byteLength, at)
    if (written < bytes.byteLength)
      throw new Error(`Only ${written} of ${bytes.byteLength} bytes of the database's log were written`)
  })
