/**
 * Sends settings with each transaction, for connections through a pooler, where a setting of the session may be lost or
 * reach another program.
 *
 * A statement outside a transaction block is one packet of messages that ends in Sync, and all messages up to Sync are
 * one transaction (PostgreSQL documentation, "Extended Query"). The settings are therefore a statement before it in the
 * same packet, without a Sync of its own: they cost no round trip and end with the transaction. Before `BEGIN`, they apply
 * to the whole block. The answer to them is removed.
 */
import * as PgProtocol from "@effect/sql-pg/PgProtocol"
import { Result } from "effect"

/** Letters of messages, and the status of a session outside a transaction block. */
export const letters = {
  parseComplete: 0x31,
  bindComplete: 0x32,
  commandComplete: 0x43,
  dataRow: 0x44,
  error: 0x45,
  idle: 0x49,
  terminate: 0x58,
  readyForQuery: 0x5a
} as const

/** The answer to the settings, if they are accepted. */
const answer = [letters.parseComplete, letters.bindComplete, letters.dataRow, letters.commandComplete]

/** Length of a message's header (letter and length field), in bytes. */
const headerLength = 5

/** Returns a text as a literal of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns the messages that apply settings until the transaction ends. */
const encode = (settings: Readonly<Record<string, string>>): Buffer => {
  const calls = Object.entries(settings).map(([name, value]) => `set_config(${quoted(name)}, ${quoted(value)}, true)`)
  return Buffer.concat([
    Result.getOrThrow(PgProtocol.encodeParse({ name: "", query: `SELECT ${calls.join(", ")}`, parameterTypes: [] })),
    Result.getOrThrow(PgProtocol.encodeBind({ portal: "", statement: "", parameters: [] })),
    PgProtocol.encodeExecute({ portal: "", maxRows: 0 })
  ])
}

/**
 * Reads the server's messages: one letter, a four-byte length that includes itself, and a body (PostgreSQL
 * documentation, "Frontend/Backend Protocol", "Message Formats").
 */
export abstract class MessageReader {
  /** Bytes of the current header received. */
  private header = 0
  private letter = 0
  private length = 0
  /** Bytes of the current body still to come. */
  private rest = 0

  protected begin(_letter: number, _length: number): void {
    // Most readers need only bodies.
  }

  /** Receives the next bytes of the current body. */
  protected abstract part(letter: number, part: Uint8Array, isLast: boolean): void

  protected read(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      if (this.rest > 0) {
        const part = bytes.subarray(at, at + this.rest)
        this.rest -= part.length
        at += part.length
        this.part(this.letter, part, this.rest === 0)
        continue
      }
      const byte = bytes[at++] ?? 0
      if (this.header === 0) {
        this.letter = byte
        this.length = 0
      } else {
        this.length = this.length * 256 + byte
      }
      if (++this.header < headerLength) continue
      this.header = 0
      this.rest = Math.max(0, this.length - 4)
      this.begin(this.letter, this.length)
    }
  }
}

/** The messages of one connection. Its client sends a packet at a time, and waits for the answer. */
export class TransactionSettings extends MessageReader {
  private readonly messages: Buffer
  /** Whether the session waits for a statement outside a transaction block. */
  private isIdle = false
  /** Letters of the messages to remove next. */
  private unwanted: ReadonlyArray<number> = []
  /** What has been received and is not removed. */
  private wanted: Array<Uint8Array> = []
  private isWanted = true

  constructor(settings: Readonly<Record<string, string>>) {
    super()
    this.messages = encode(settings)
  }

  /** Returns a packet to the server, with the settings if it begins a transaction. */
  send(packet: Buffer): Buffer {
    if (!this.isIdle || packet[0] === letters.terminate) return packet
    this.isIdle = false
    this.unwanted = answer
    return Buffer.concat([this.messages, packet])
  }

  /** Returns the next bytes from the server, without the answer to the settings. */
  receive(bytes: Buffer): Buffer {
    this.wanted = []
    this.read(bytes)
    return Buffer.concat(this.wanted)
  }

  protected override begin(letter: number, length: number): void {
    this.isWanted = letter !== this.unwanted[0]
    if (!this.isWanted) this.unwanted = this.unwanted.slice(1)
    // After an error, the server skips everything up to Sync.
    if (letter === letters.error) this.unwanted = []
    if (!this.isWanted) return
    const header = Buffer.alloc(headerLength)
    header[0] = letter
    header.writeInt32BE(length, 1)
    this.wanted.push(header)
  }

  protected override part(letter: number, part: Uint8Array): void {
    if (this.isWanted) this.wanted.push(part)
    if (letter === letters.readyForQuery) this.isIdle = part[0] === letters.idle
  }
}
