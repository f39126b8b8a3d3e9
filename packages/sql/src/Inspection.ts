/**
 * What an inspection found. Inspecting changes nothing.
 */
export interface Inspection {
  /** Whether the database exists and has doorhook's tables. */
  readonly exists: boolean
  /** The newest migration that was run; 0 without tables. */
  readonly version: number
  /** The newest migration of this doorhook version. */
  readonly newest: number
  /** The database engine and its version. */
  readonly engine: string
  /** Whether this user may write to it and create missing tables. */
  readonly isWritable: boolean
  /** Whether other users of the machine can read it; null if unknown. */
  readonly isReadableByOthers: boolean | null
  /** How far its clock is ahead of this machine's, in milliseconds; null if it has no clock of its own. */
  readonly clockAhead: number | null
}
