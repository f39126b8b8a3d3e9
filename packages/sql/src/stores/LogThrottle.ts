/**
 * Explains rows that are unreadable or missing because another program has changed them, and limits how often each is
 * logged.
 */
import { RecentMap, rootMessage } from "@doorhook/core"
import { adviceOn } from "../StoreFailure.ts"

/** How long the same row is not logged again, in milliseconds. */
export const logCooldown = 60_000

/** How many logged rows are remembered. */
const maxRemembered = 10_000

/** A required row that can't be read. */
export interface UnreadableRow {
  readonly name: string
  /** Undefined if the row is missing. */
  readonly cause: unknown
}

/** Says what is wrong with a row and what to do. */
export const explain = ({ cause, name }: UnreadableRow): string => {
  if (cause === undefined) return `${name} is missing: another program has deleted it. Restore a backup.`
  const said = rootMessage(cause)
  return `${said.startsWith(name) ? said : `${name}: ${said}`}; ${adviceOn(cause) ?? "find out what has changed it."}`
}

/** Makes a function that returns whether a row should be logged now, and then starts its cooldown. */
export const makeLogThrottle = () => {
  const toldAt = new RecentMap<string, number>(maxRemembered)

  return ({ name }: UnreadableRow, now: number): boolean => {
    if (now - (toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < logCooldown) return false
    toldAt.set(name, now)
    return true
  }
}
