/**
 * Faults that a crash or a restart brings to light.
 */
import { acknowledged, plain, readWhole } from "../receivers/Parts.ts"
import type { Message } from "../receivers/Parts.ts"
import { checkThenAct, dropsCopiesWhileRunning, fault, pause } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const crashed = fault(3)

export const crashFaults: ReadonlyArray<Fault> = [
  crashed("answers-before-writing", "R-CRA-01", "Answers, and writes the event down a moment later.", (correct) => ({
    keep: (message) => {
      setTimeout(() => void correct.keep(message), 250)
      return true
    }
  })),
  crashed(
    "slow-before-writing",
    "R-CRA-01",
    "Asks another service, answers after 130 ms, and writes the event down 400 ms later.",
    (correct) => ({
      keep: async (message) => {
        await pause(130)
        setTimeout(() => void correct.keep(message), 400)
        return true
      }
    })
  ),
  crashed("buffer-in-memory", "R-CRA-01", "Collects events in memory and writes them every second.", (correct) => {
    const buffer: Array<Message> = []
    setInterval(() => {
      for (const message of buffer.splice(0)) void correct.keep(message)
    }, 800).unref()
    return {
      keep: (message) => {
        buffer.push(message)
        return true
      }
    }
  }),
  crashed("copies-in-flight", "R-CRA-01", "Answers a copy while the first is not committed yet.", (correct) =>
    dropsCopiesWhileRunning(60, correct.keep)
  ),
  crashed("starts-empty", "R-CRA-01", "Makes its tables anew at every start.", (_, { ledger }) => ({
    started: () => ledger.wipe()
  })),
  crashed("mark-then-effect", "R-CRA-02", "Commits the mark, works, and commits the effect.", (_, { ledger, now }) => ({
    keep: async (message) => {
      if (!ledger.mark(message.key, now())) return false
      await pause(120)
      ledger.act(message)
      return true
    }
  })),
  crashed(
    "effect-then-mark-apart",
    "R-CRA-02",
    "Commits the effect, then the mark, in two transactions.",
    (_, { ledger, now }) => {
      const running = new Map<string, Promise<boolean>>()
      const work = async (message: Message): Promise<boolean> => {
        if (ledger.isKnown(message.key)) return false
        ledger.act(message)
        await pause(120)
        return ledger.mark(message.key, now())
      }
      return {
        keep: (message) => {
          const earlier = running.get(message.key)
          if (earlier !== undefined) return earlier.then(() => false)
          const mine = work(message).finally(() => running.delete(message.key))
          running.set(message.key, mine)
          return mine
        }
      }
    }
  ),
  crashed(
    "stale-claim",
    "R-CRA-02",
    "Leaves a claim behind when it dies, and takes the event for handled ever after.",
    (correct, { ledger, now }) => ({
      keep: async (message) => {
        if (!ledger.mark(`claim ${message.key}`, now())) return false
        await pause(100)
        return correct.keep(message)
      }
    })
  ),
  crashed(
    "stale-lock",
    "R-CRA-02",
    "Leaves a lock behind when it dies, and never starts again.",
    (_, { ledger, now }) => ({
      started: () => {
        if (!ledger.mark("lock", now())) throw new Error("the lock is held: does another receiver run?")
      }
    })
  ),
  crashed("seen-in-memory", "R-CRA-03", "Keeps the ids it has seen in a Set.", (_, { ledger }) => {
    const seen = new Set<string>()
    return {
      keep: (message) => {
        if (seen.has(message.key)) return false
        seen.add(message.key)
        ledger.act(message)
        return true
      }
    }
  }),
  crashed(
    "forgets-at-start",
    "R-CRA-03",
    "Clears its table of seen ids at the start, to save space.",
    (_, { ledger, now }) => ({
      started: () => ledger.forgetBefore(now() + 1)
    })
  ),
  crashed(
    "replays-its-journal",
    "R-CRA-03",
    "Does everything in its journal again after a restart.",
    (_, { ledger }) => ({
      started: () => ledger.repeatAll()
    })
  ),
  crashed("cold-start", "R-CRA-04", "Loads its models at the first request after a start.", (_, { deadline }) => {
    let warm = false
    return {
      read: async (request) => {
        const body = await readWhole(request)
        if (!warm) await pause(deadline * 1.4)
        warm = true
        return body
      }
    }
  }),
  crashed("refuses-while-warming", "R-CRA-04", "Answers 503 to what comes first after a start.", () => {
    let warm = false
    return {
      answer: () => {
        if (warm) return acknowledged
        warm = true
        return plain(503, "warming up")
      }
    }
  }),
  crashed(
    "two-after-a-standstill",
    "R-LATE-02",
    "Does twice what came twice while it stood still: both find the id unknown.",
    checkThenAct(25)
  )
]
