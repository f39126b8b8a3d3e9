/**
 * Receivers whose faults show when an answer is lost, when they stand still, crash or restart.
 */
import type { Delivery, ReceivedRequest } from "@doorhook/receiver"
import { acknowledged, effectOf, pause, plain, socketOf } from "./Base.ts"
import type { Change } from "./Base.ts"
import { checkThenAct } from "./Duplicates.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

/** Whether the sender has hung up. */
const isGone = (request: ReceivedRequest): boolean => socketOf(request).destroyed

/** Keeps the ids it has seen in a Set, which begins with some that the database holds. */
const seenInMemory =
  (loaded: number): Change =>
  (_, { ledger, now }) => {
    const seen = new Set<string>()
    return {
      start: () => {
        for (const key of ledger.lastMarked(loaded)) seen.add(key)
      },
      keep: async (key, delivery, request) => {
        if (seen.has(key)) return false
        seen.add(key)
        ledger.mark(key, now())
        ledger.act(effectOf(delivery, request))
        return true
      }
    }
  }

/** How long a standstill is that a lease does not outlast, in milliseconds. */
const lease = 1_000

export const lateFaults: ReadonlyArray<Fault> = [
  ...faults(2)(
    [
      "cancelled-with-mark",
      "R-LATE-01",
      "Stops working when the sender hangs up, but has marked the id.",
      (_, { ledger, now }) => ({
        keep: async (key, delivery, request) => {
          if (!ledger.mark(key, now())) return false
          await pause(60)
          if (!isGone(request)) ledger.act(effectOf(delivery, request))
          return true
        }
      })
    ],
    [
      "effect-then-mark",
      "R-LATE-01",
      "Marks the id only once the answer could be sent.",
      (_, { ledger, now }) => ({
        keep: async (key, delivery, request) => {
          if (ledger.isKnown(key)) return false
          ledger.act(effectOf(delivery, request))
          await pause(60)
          if (!isGone(request)) ledger.mark(key, now())
          return true
        }
      })
    ]
  ),
  ...faults(1)(
    [
      "hung-up-means-never",
      "R-LATE-03",
      "Refuses an event for good once its sender hung up before the answer.",
      () => {
        const abandoned = new Set<string>()
        return {
          acknowledge: async (_, { id }, request) => {
            if (abandoned.has(id)) return plain(410, "given up before")
            await pause(20)
            if (isGone(request)) abandoned.add(id)
            return acknowledged
          }
        }
      }
    ],
    [
      "released-with-the-answer",
      "R-LATE-03",
      "Locks an event until its answer is sent, and answers 409 to attempts in between: an answer that nobody took releases nothing.",
      () => {
        const locks = new Set<string>()
        return {
          acknowledge: async (_, { id }) => {
            if (locks.has(id)) return plain(409, "in progress")
            locks.add(id)
            await pause(20)
            return acknowledged
          },
          send: ({ body, headers, status }, request, response) => {
            if (status === 200) response.once("finish", () => locks.delete(String(request.headers["webhook-id"])))
            response.writeHead(status, headers).end(body)
          }
        }
      }
    ]
  )
]

export const crashFaults: ReadonlyArray<Fault> = faults(3)(
  [
    "two-after-a-standstill",
    "R-LATE-02",
    "Does twice what came twice while it stood still: both find the id unknown.",
    checkThenAct(25)
  ],
  [
    "leases-run-out",
    "R-LATE-02",
    "Takes what it was working on for abandoned after a standstill, and forgets that it was done.",
    (_, { ledger, now }) => {
      let last = Date.now()
      setInterval(() => {
        if (Date.now() - last > lease) setTimeout(() => ledger.forgetBefore(now() + 1), 50)
        last = Date.now()
      }, 50).unref()
      return {}
    }
  ],
  [
    "answers-before-writing",
    "R-CRA-01",
    "Answers, and writes the event down a moment later.",
    (correct) => ({
      keep: async (...given) => {
        setTimeout(() => void correct.keep(...given), 250)
        return true
      }
    })
  ],
  [
    "buffer-in-memory",
    "R-CRA-01",
    "Collects events in memory and writes them every second.",
    (correct) => {
      const buffer: Array<readonly [string, Delivery, ReceivedRequest]> = []
      setInterval(() => {
        for (const given of buffer.splice(0)) void correct.keep(...given)
      }, 800).unref()
      return {
        keep: async (...given) => {
          buffer.push(given)
          return true
        }
      }
    }
  ],
  [
    "copies-in-flight",
    "R-CRA-01",
    "Answers a copy while the first is not committed yet.",
    (correct) => {
      const running = new Set<string>()
      return {
        keep: async (key, delivery, request) => {
          if (running.has(key)) return false
          running.add(key)
          await pause(60)
          const isNew = await correct.keep(key, delivery, request)
          running.delete(key)
          return isNew
        }
      }
    }
  ],
  [
    "starts-empty",
    "R-CRA-01",
    "Makes its tables again at every start.",
    (_, { ledger }) => ({ start: () => ledger.wipe() })
  ],
  [
    "mark-then-effect",
    "R-CRA-02",
    "Commits the mark, works, and commits the effect.",
    (_, { ledger, now }) => ({
      keep: async (key, delivery, request) => {
        if (!ledger.mark(key, now())) return false
        await pause(120)
        ledger.act(effectOf(delivery, request))
        return true
      }
    })
  ],
  [
    "effect-then-mark-apart",
    "R-CRA-02",
    "Commits the effect, then the mark, in two transactions.",
    (_, { ledger, now }) => {
      const running = new Map<string, Promise<boolean>>()
      const work = async (key: string, delivery: Delivery, request: ReceivedRequest): Promise<boolean> => {
        if (ledger.isKnown(key)) return false
        ledger.act(effectOf(delivery, request))
        await pause(120)
        return ledger.mark(key, now())
      }
      return {
        keep: async (key, delivery, request) => {
          const earlier = running.get(key)
          if (earlier !== undefined) return earlier.then(() => false)
          const mine = work(key, delivery, request).finally(() => running.delete(key))
          running.set(key, mine)
          return mine
        }
      }
    }
  ],
  [
    "stale-claim",
    "R-CRA-02",
    "Leaves a claim behind when it dies, and takes the event for handled from then on.",
    (correct, { ledger, now }) => ({
      keep: async (key, delivery, request) => {
        if (!ledger.mark(`claim ${key}`, now())) return false
        await pause(100)
        return correct.keep(key, delivery, request)
      }
    })
  ],
  [
    "stale-lock",
    "R-CRA-02",
    "Leaves a lock behind when it dies, and never starts again.",
    (_, { ledger, now }) => ({
      start: () => {
        if (!ledger.mark("lock", now())) throw new Error("the lock is held: does another receiver run?")
      }
    })
  ],
  ["seen-in-memory", "R-CRA-03", "Keeps the ids it has seen in a Set.", seenInMemory(0)],
  [
    "warm-100",
    "R-CRA-03",
    "Keeps the ids it has seen in memory, and reads the last hundred back at the start.",
    seenInMemory(100)
  ],
  [
    "replays-its-journal",
    "R-CRA-03",
    "Does everything in its journal again after a restart.",
    (_, { ledger }) => ({ start: () => ledger.repeatAll() })
  ],
  [
    "cold-start",
    "R-CRA-04",
    "Loads its models at the first request after a start.",
    (_, { deadline }) => {
      let isWarm = false
      return {
        acknowledge: async () => {
          const wasWarm = isWarm
          isWarm = true
          if (!wasWarm) await pause(deadline * 1.4)
          return acknowledged
        }
      }
    }
  ],
  [
    "refuses-while-warming",
    "R-CRA-04",
    "Answers 503 to what comes first after a start.",
    () => {
      let isWarm = false
      return {
        acknowledge: () => {
          if (isWarm) return acknowledged
          isWarm = true
          return plain(503, "warming up")
        }
      }
    }
  ]
)
