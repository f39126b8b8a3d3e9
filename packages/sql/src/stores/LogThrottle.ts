/**
 * Explains why a row that another program has changed is unreadable or missing, and limits how often each row is
 * logged.
 */
import { RecentMap, rootMessage } from "@doorhook/core"
import { adviceOn } from "../StoreFailure.ts"

/** Minimum time between log lines about the same row, in milliseconds. */
export const logCooldown = 60_000

/** Maximum number of remembered rows. */
const maxRemembered = 10_000

/** A required row that is damaged or missing. */
export interface UnreadableRow {
  readonly name: string
  /** Why the row can't be read; undefined if it is missing. */
  readonly cause: unknown
}

/** Explains what is wrong with a row and what to do. */
export const explain = ({ cause, name }: UnreadableRow): string => {
  if (cause === undefined) return `${name} is missing: another program has deleted it. Restore a backup.`
  const said = rootMessage(cause)
  return `${said.startsWith(name) ? said : `${name}: ${said}`}; ${adviceOn(cause) ?? "find out what changed it."}`
}

/** Makes a function that returns whether to log a row now. If so, the row's cooldown starts. */
export const makeLogThrottle = () => {
  const toldAt = new RecentMap<string, number>(maxRemembered)

  return ({ name }: UnreadableRow, now: number): boolean => {
    if (now - (toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < logCooldown) return false
    toldAt.set(name, now)
    return true
  }
}
