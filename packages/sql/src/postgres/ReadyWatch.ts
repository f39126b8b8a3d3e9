/**
 * Detects the end of each answer of a PostgreSQL server: the message ReadyForQuery. A message is one letter, a four-byte
 * length that includes itself, and a body (PostgreSQL documentation, "Frontend/Backend Protocol", "Message Formats").
 */

/** `Z`: ReadyForQuery. */
const readyForQuery = 0x5a

/** Length of letter and length field, in bytes. */
const headerLength = 5

export class ReadyWatch {
  /** Bytes of the current message still to come. */
  private rest = 0
  /** Bytes of the current header received. */
  private header = 0
  private letter = 0
  private length = 0

  /** Whether an answer ends within `bytes`, which continue the bytes of earlier calls. */
  sees(bytes: Uint8Array): boolean {
    let isReady = false
    for (let at = 0; at < bytes.length;) {
      if (this.rest > 0) {
        const step = Math.min(this.rest, bytes.length - at)
        this.rest -= step
        at += step
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
      if (this.letter === readyForQuery) isReady = true
    }
    return isReady
  }
}
