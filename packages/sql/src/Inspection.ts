import type { ClockOffset } from "@doorhook/core"

/**
 * Result of inspecting a database. An inspection changes nothing.
 */
export interface Inspection {
  /** Whether the database exists and has doorhook's tables. */
  readonly exists: boolean
  /** Number of the newest migration in the database; 0 without tables. */
  readonly version: number
  /** Number of the newest migration in this version of doorhook. */
  readonly newest: number
  /** Why this doorhook can't use the tables, and what to do; null if it can. */
  readonly refusal: string | null
  /** The database engine and its version. */
  readonly engine: string
  /** Whether this user may write to the database and create missing tables. */
  readonly isWritable: boolean
  /** Whether other users of the machine can read the database; null if unknown. */
  readonly isReadableByOthers: boolean | null
  /** How the connection to the server is encrypted; null without a server. */
  readonly encryption: { readonly isExposed: boolean; readonly detail: string } | null
  /** The pooler between this process and the server, and how wake signals arrive; null without a pooler. */
  readonly pooler: { readonly mode: "session" | "transaction"; readonly signals: string } | null
  /** The offset of this machine's clock from the database server's; null without a server. */
  readonly clockOffset: ClockOffset | null
  /** A few encrypted secrets, to check the encryption key. Empty without tables that this doorhook can use. */
  readonly sealed: ReadonlyArray<string>
  /** What is wrong with the rows of integrations that can't be read. */
  readonly unreadable: ReadonlyArray<string>
  /** Number of deliveries among the newest that were cancelled because a row could not be read. */
  readonly failedReads: number
  /** Stored texts of the settings that processes agree on; null without any. */
  readonly agreed: string | null
  readonly proposed: string | null
  /** Number of processes that deliver from the database now; null if unknown. */
  readonly workers: number | null
}
