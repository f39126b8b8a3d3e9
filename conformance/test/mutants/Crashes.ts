/**
 * Receivers with faults that appear when an answer is lost, during a pause, in a crash or at a restart.
 */
import { isExpired } from "@doorhook/receiver"
import type { Answer, Delivery, ReceivedRequest } from "@doorhook/receiver"
import {
  acknowledged,
  actsUnless,
  besideItself,
  checkThenAct,
  deadline,
  drops,
  isGone,
  pause,
  plain,
  refuses,
  work
} from "./Base.ts"
import type { Change, WrongReceivers } from "./Base.ts"

/** Keeps known ids in a Set that initially contains the last `loaded` ids in the database. */
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

/** Marks the id, waits, and then acts unless the request was cancelled. */
const markThenAct =
  (wait: number, isCancelled: (request: ReceivedRequest) => boolean = () => false): Change =>
  (_, { act, mark }) => ({
    keep: async (key, delivery, request) => {
      if (!mark(key)) return false
      await work(wait)
      if (!isCancelled(request)) act(delivery, request)
      return true
    }
  })

/** Answers the first event after a start with `answer`, and acknowledges all others. */
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

export const crashRows: WrongReceivers = {
  "R-LATE-01": {
    "cancelled-with-mark": [
      "Stops when the sender hangs up, although the id is already marked.",
      markThenAct(60, isGone)
    ],
    "effect-then-mark": [
      "Marks the id only if the answer can still be sent.",
      (_, { act, ledger, mark }) => ({
        keep: async (key, delivery, request) => {
          if (ledger.isKnown(key)) return false
          act(delivery, request)
          await work(60)
          return isGone(request) || mark(key)
        }
      })
    ]
  },
  "R-LATE-02": {
    "two-after-a-standstill": [
      "Acts twice on an event that arrived twice during a pause, because both copies find the id unknown.",
      checkThenAct(() => pause(250)),
      { level: 3 }
    ],
    "leases-run-out": [
      "After a pause of a second, treats its work as abandoned and forgets that it was done.",
      (correct, { ledger }) => {
        let last = Date.now()
        let resumed = 0
        const look = (): void => {
          const now = Date.now()
          if (now - last > 1_000) resumed = now
          last = now
        }
        setInterval(look, 50).unref()
        return {
          keep: async (key, ...given) => {
            look()
            const isNew = await correct.keep(key, ...given)
            if (last - resumed < 1_000) ledger.forget("key = ?", key)
            return isNew
          }
        }
      },
      { level: 3 }
    ]
  },
  "R-LATE-03": {
    "hung-up-means-never": [
      "Refuses an event forever once the sender has hung up before the answer.",
      () => {
        const abandoned = new Set<string>()
        return {
          acknowledge: async (_, { id }, request) => {
            if (abandoned.has(id)) return plain(410, "given up before")
            await work(20)
            if (isGone(request)) abandoned.add(id)
            return acknowledged
          }
        }
      }
    ],
    "released-with-the-answer": [
      "Locks an event until its answer is sent, and answers 409 until then. If the sender has hung up, the lock stays.",
      () => {
        const locks = new Set<string>()
        return {
          acknowledge: async (_, { id }) => {
            if (locks.has(id)) return plain(409, "in progress")
            locks.add(id)
            await work(20)
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
  "R-LATE-04": {
    "rings-late": ["Acts on a call whose deadline has passed.", actsUnless(() => false)],
    "rings-late-at-retries": [
      "Checks the deadline of a call only at its first attempt.",
      actsUnless((delivery) => delivery.attempt === 1 && isExpired(delivery))
    ]
  },
  "R-LATE-05": {
    "rings-at-replays": ["Acts on replays.", actsUnless((delivery) => isExpired(delivery))],
    "drops-replays": ["Acknowledges replays without storing them.", drops(({ isReplay }) => isReplay)],
    "refuses-replays": ["Refuses replays.", refuses(409, ({ isReplay }) => isReplay)]
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
    "copies-in-flight": [
      "Acknowledges a copy before the first copy is committed.",
      besideItself(60, async () => false)
    ],
    "starts-empty": [
      "Keeps its database on a disk that a restart empties.",
      (_, { ledger }) => ({ start: () => ledger.database.exec("DELETE FROM doorhook_deliveries; DELETE FROM effects") })
    ],
    "jobs-done-again": [
      "Removes a job from its queue some time after doing it, so that a crash in between repeats it.",
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
    "mark-then-effect": ["Commits the mark, and later the effect.", markThenAct(120)],
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
      "Leaves a lock behind when it dies, which prevents any further start.",
      (_, { mark }) => ({
        start: () => {
          if (!mark("lock")) throw new Error("the lock is held: does another receiver run?")
        }
      })
    ]
  },
  "R-CRA-03": {
    "seen-in-memory": ["Keeps the ids it has seen in a Set.", seenInMemory(0)],
    "warm-100": ["Keeps the ids it has seen in memory, and loads the last hundred at the start.", seenInMemory(100)],
    "replays-its-journal": [
      "Repeats everything in its journal after a restart.",
      (_, { ledger }) => ({ start: () => ledger.database.exec("INSERT INTO effects SELECT * FROM effects") })
    ]
  },
  "R-CRA-04": {
    "refuses-while-warming": ["Answers 503 to the first event after a start.", first(() => plain(503, "warming up"))],
    "cold-start": [
      "Loads its models during the first request after a start, which takes longer than the deadline.",
      first(() => pause(deadline * 1.4).then(() => acknowledged))
    ]
  }
}
