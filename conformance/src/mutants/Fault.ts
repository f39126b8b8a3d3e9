/**
 * One faulty receiver: what it does wrong, and which requirement must find that out.
 */
import type { Message, Parts } from "../receivers/Parts.ts"
import type { Profile } from "../requirements/Profile.ts"
import type { Change } from "../receivers/Server.ts"

export interface Fault {
  /** Stable: the kill table lists it. */
  readonly name: string
  /** What it does wrong, in one sentence, as its author would not say it. */
  readonly does: string
  /** The requirement that must fail. */
  readonly requirement: string
  /** The least level at which that can be seen. */
  readonly level: 1 | 2 | 3
  /** The profile it takes; null where the level is enough. */
  readonly profile: Profile | null
  readonly change: Change
}

/** A fault of a group. */
export const fault =
  (level: Fault["level"], profile: Fault["profile"] = null) =>
  (name: string, requirement: string, does: string, change: Change): Fault => ({
    name,
    does,
    requirement,
    level,
    profile,
    change
  })

/** Looks whether it knows the event, then takes so many milliseconds over the work, then marks it. */
export const checkThenAct =
  (milliseconds: number): Change =>
  (_, { ledger, now }) => ({
    keep: async (message) => {
      if (ledger.isKnown(message.key)) return false
      await pause(milliseconds)
      ledger.act(message)
      return ledger.mark(message.key, now())
    }
  })

/** Drops a copy only while the first is under way, which takes so many milliseconds and then what is to be done. */
export const dropsCopiesWhileRunning = (
  milliseconds: number,
  keep: (message: Message) => boolean | Promise<boolean>
): Partial<Parts> => {
  const running = new Set<string>()
  return {
    keep: async (message) => {
      if (running.has(message.key)) return false
      running.add(message.key)
      await pause(milliseconds)
      const isNew = await keep(message)
      running.delete(message.key)
      return isNew
    }
  }
}

/** Resolves after some milliseconds. */
export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))
