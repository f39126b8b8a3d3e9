/**
 * Receivers whose faults show when an answer is lost, during a pause, in a crash or at a restart.
 */
import type { Answer, Delivery, ReceivedRequest } from "@doorhook/receiver"
import { acknowledged, besideItself, checkThenAct, deadline, isGone, pause, plain } from "./Base.ts"
import type { Change, Rows } from "./Base.ts"

/** Keeps known ids in a Set, which starts with the last ones of the database. */
const seenInMemory =
  (loaded: number): Change =>
  (_, { act, ledger, mark }) => {
    const last = ledger.database.prepare("SELECT key FROM doorhook_deliveries ORDER BY rowid DESC LIMIT ?").all(loaded)
    const seen = new Set(last.map(({ key }) => String(key)))
    return {
      keep: async (key, ...given) => {
        if (seen.has(key)) return false
        seen.add(key)
        mark(key)
        act(...given)
        return true
      }
    }
  }

/** Marks the id, waits, and then works, unless it is cancelled. */
const markThenAct =
  (wait: number, isCancelled: (request: ReceivedRequest) => boolean = () => false): Change =>
  (_, { act, mark }) => ({
    keep: async (key, delivery, request) => {
      if (!mark(key)) return false
      await pause(wait)
      if (!isCancelled(request)) act(delivery, request)
      return true
    }
  })

/** Gives another answer to the first event after a start. */
const first =
  (answer: () => Answer | Promise<Answer>): Change =>
  () => {
    let isWarm = false
    return {
      acknowledge: () => {
        const wasWarm = isWarm
        isWarm = true
        return wasWarm ? acknowledged : answer()
      }
    }
  }

export const crashRows: Rows = {
  "R-LATE-01": {
    "cancelled-with-mark": ["Stops working when the sender hangs up, but has marked the id.", markThenAct(60, isGone)],
    "effect-then-mark": [
      "Marks the id only once the answer could be sent.",
      (_, { act, ledger, mark }) => ({
        keep: async (key, delivery, request) => {
          if (ledger.isKnown(key)) return false
          act(delivery, request)
          await pause(60)
          return isGone(request) || mark(key)
        }
      })
    ]
  },
  "R-LATE-02": {
    "two-after-a-standstill": [
      "Does twice what came twice while it stood still: both find the id unknown.",
      checkThenAct(() => pause(25)),
      { level: 3 }
    ],
    "leases-run-out": [
      "Takes what it was working on for abandoned after a standstill of a second, and forgets that it was done.",
      (_, { ledger }) => {
        let last = Date.now()
        setInterval(() => {
          if (Date.now() - last > 1_000) setTimeout(() => ledger.forget("true"), 50)
          last = Date.now()
        }, 50).unref()
        return {}
      },
      { level: 3 }
    ]
  },
  "R-LATE-03": {
    "hung-up-means-never": [
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
    "released-with-the-answer": [
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
  },
  "R-CRA-01": {
    "buffer-in-memory": [
      "Answers, collects events in memory and writes them four times a second.",
      (correct) => {
        const buffer: Array<readonly [string, Delivery, ReceivedRequest]> = []
        setInterval(() => {
          for (const given of buffer.splice(0)) void correct.keep(...given)
        }, 250).unref()
        return { keep: async (...given) => buffer.push(given) > 0 }
      }
    ],
    "copies-in-flight": ["Answers a copy while the first is not committed yet.", besideItself(60, async () => false)],
    "starts-empty": [
      "Keeps its database where a restart begins with an empty disk.",
      (_, { ledger }) => ({ start: () => ledger.database.exec("DELETE FROM doorhook_deliveries; DELETE FROM effects") })
    ],
    "jobs-done-again": [
      "Takes a job out of its queue some time after the work: a crash in between has it done again.",
      (correct, { ledger, mark }) => ({
        start: () =>
          ledger.database.exec(
            "INSERT INTO effects SELECT * FROM effects WHERE 'job ' || id IN (SELECT key FROM doorhook_deliveries)"
          ),
        keep: async (key, delivery, request) => {
          const isNew = await correct.keep(key, delivery, request)
          if (isNew && mark(`job ${delivery.id}`)) setTimeout(() => ledger.forget("key = ?", `job ${delivery.id}`), 200)
          return isNew
        }
      })
    ]
  },
  "R-CRA-02": {
    "mark-then-effect": ["Commits the mark, works, and commits the effect.", markThenAct(120)],
    "effect-then-mark-apart": [
      "Commits the effect, then the mark, in two transactions; copies wait for each other.",
      (_, { act, ledger, mark }) => {
        let last: Promise<unknown> = Promise.resolve()
        const work = async (key: string, ...given: readonly [Delivery, ReceivedRequest]): Promise<boolean> => {
          if (ledger.isKnown(key)) return false
          act(...given)
          await pause(60)
          return mark(key)
        }
        return {
          keep: (...given) => {
            const mine = last.then(() => work(...given))
            last = mine
            return mine
          }
        }
      }
    ],
    "stale-lock": [
      "Leaves a lock behind when it dies, and never starts again.",
      (_, { mark }) => ({
        start: () => {
          if (!mark("lock")) throw new Error("the lock is held: does another receiver run?")
        }
      })
    ]
  },
  "R-CRA-03": {
    "seen-in-memory": ["Keeps the ids it has seen in a Set.", seenInMemory(0)],
    "warm-100": [
      "Keeps the ids it has seen in memory, and reads the last hundred back at the start.",
      seenInMemory(100)
    ],
    "replays-its-journal": [
      "Does everything in its journal again after a restart.",
      (_, { ledger }) => ({ start: () => ledger.database.exec("INSERT INTO effects SELECT * FROM effects") })
    ]
  },
  "R-CRA-04": {
    "cold-start": [
      "Loads its models at the first request after a start.",
      first(() => pause(deadline * 1.4).then(() => acknowledged))
    ],
    "refuses-while-warming": ["Answers 503 to what comes first after a start.", first(() => plain(503, "warming up"))]
  }
}
