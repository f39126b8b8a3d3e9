/**
 * Follows the messages that a PostgreSQL server sends, to see when it has answered: each answer ends with ReadyForQuery.
 * A message is a letter, a length of four bytes that counts itself, and what it says (PostgreSQL documentation,
 * «Frontend/Backend Protocol», section «Message Formats»).
 */

/** `Z`: ReadyForQuery. */
const readyForQuery = 0x5a

/** The bytes of a letter and a length. */
const headerLength = 5

export class ReadyWatch {
  /** How many bytes of the current message are still to come, once its header is read. */
  private rest = 0
  /** How many bytes of the current header have come. */
  private header = 0
  private letter = 0
  private length = 0

  /** Whether an answer has ended within these bytes, which follow all those before. */
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
