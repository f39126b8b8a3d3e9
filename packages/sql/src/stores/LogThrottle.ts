/**
 * Rows that can't be read, or are not there, as the log tells of them: something else than doorhook has written them.
 */
import { RecentMap, rootMessage } from "@doorhook/core"
import { adviceOn } from "../StoreFailure.ts"

/** For how long nothing more is said of the same row, in milliseconds. */
export const logCooldown = 60_000

/** How many rows are remembered as told of. */
const maxRemembered = 10_000

/** A row that something can't be done without. */
export interface UnreadableRow {
  readonly name: string
  /** Undefined: it is not there. */
  readonly cause: unknown
}

/** What is wrong with a row, and what to do. */
export const explain = ({ cause, name }: UnreadableRow): string => {
  if (cause === undefined) return `${name} is not there: something else than doorhook has deleted it. Restore a backup.`
  const said = rootMessage(cause)
  return `${said.startsWith(name) ? said : `${name}: ${said}`}; ${adviceOn(cause) ?? "see what has changed it."}`
}

/** Says whether it is time to tell of a row, and takes it for told if it is. */
export const makeLogThrottle = () => {
  const toldAt = new RecentMap<string, number>(maxRemembered)

  return ({ name }: UnreadableRow, now: number): boolean => {
    if (now - (toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < logCooldown) return false
    toldAt.set(name, now)
    return true
  }
}
