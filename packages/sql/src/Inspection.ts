/**
 * What a database is found to be by somebody who changes nothing in it.
 */
export interface Inspection {
  /** Whether there is such a database, with tables of doorhook's in it. */
  readonly exists: boolean
  /** The newest migration that was run; 0 when there are no tables. */
  readonly version: number
  /** The newest migration that this doorhook has. */
  readonly newest: number
  /** What stores it, with its version. */
  readonly engine: string
  /** Whether this user may change it, and make its tables where they are missing. */
  readonly isWritable: boolean
  /** Whether other users of the machine can read it; null when that can't be told. */
  readonly isReadableByOthers: boolean | null
  /** By how many milliseconds its clock goes ahead of this machine's; null when it has none of its own. */
  readonly clockAhead: number | null
}
