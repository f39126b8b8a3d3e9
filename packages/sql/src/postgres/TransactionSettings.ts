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
const letters = {
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

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns the messages that apply settings until the transaction ends. */
const encode = (settings: Readonly<Record<string, string>>): Buffer => {
  const calls = Object.entries(settings).map(([name, value]) => `set_config(${quoted(name)}, ${quoted(value)}, true)`)
  return Buffer.concat([
    Result.getOrThrow(PgProtocol.encodeParse({ name: "", query: `SELECT ${calls.join(", ")}`, parameterTypes: [] })),
    Result.getOrThrow(PgProtocol.encodeBind({ portal: "", statement: "", parameters: [] })),
    PgProtocol.encodeExecute({ portal: "", maxRows: 0 })
  ])
}

/** The messages of one connection. Its client sends a packet at a time, and waits for the answer. */
export class TransactionSettings {
  private readonly messages: Buffer
  /** Whether the session waits for a statement outside a transaction block. */
  private isIdle = false
  /** Letters of the messages to remove next. */
  private unwanted: ReadonlyArray<number> = []
  /** The part of the current message's header that has arrived. */
  private header: Array<number> = []
  /** Bytes of the current message still to come. */
  private rest = 0
  private isWanted = true

  constructor(settings: Readonly<Record<string, string>>) {
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
    const wanted: Array<Buffer> = []
    for (let at = 0; at < bytes.length;) {
      if (this.rest === 0) {
        this.header.push(bytes[at++] ?? 0)
        if (this.header.length === headerLength) wanted.push(this.begin(Buffer.from(this.header)))
        continue
      }
      const part = bytes.subarray(at, at + this.rest)
      if (this.isWanted) wanted.push(part)
      this.rest -= part.length
      at += part.length
      if (this.header[0] === letters.readyForQuery) this.isIdle = part[0] === letters.idle
      if (this.rest === 0) this.header = []
    }
    return Buffer.concat(wanted)
  }

  /** Begins a message. Returns its header, or nothing if the message is removed. */
  private begin(header: Buffer): Buffer {
    const letter = header[0]
    this.rest = header.readInt32BE(1) - 4
    this.isWanted = letter !== this.unwanted[0]
    if (!this.isWanted) this.unwanted = this.unwanted.slice(1)
    // After an error, the server skips everything up to Sync.
    if (letter === letters.error) this.unwanted = []
    if (this.rest === 0) this.header = []
    return this.isWanted ? header : Buffer.alloc(0)
  }
}
