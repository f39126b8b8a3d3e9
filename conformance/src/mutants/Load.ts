/**
 * Receivers that fall short at the rate they are made for.
 */
import { acknowledged, effectOf, pause, plain } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

/** Runs one thing after the other. */
const oneByOne = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <A>(run: () => Promise<A>): Promise<A> => {
    const mine = last.then(run)
    last = mine.catch(() => undefined)
    return mine
  }
}

export const loadFaults: ReadonlyArray<Fault> = [
  ...faults(1, { profile: "load" })(
    [
      "one-at-a-time",
      "R-ACK-05",
      "Handles one request at a time, slowly, behind a global lock.",
      (_, { deadline }) => {
        const inTurn = oneByOne()
        return { acknowledge: () => inTurn(() => pause(deadline / 8).then(() => acknowledged)) }
      }
    ],
    [
      "rate-limited",
      "R-ACK-05",
      "Answers 429 to more than a few requests a second.",
      () => {
        const times: Array<number> = []
        return {
          acknowledge: () => {
            const now = Date.now()
            while ((times[0] ?? now) < now - 1_000) times.shift()
            times.push(now)
            return times.length > 15 ? plain(429, "slow down", { "retry-after": "1" }) : acknowledged
          }
        }
      }
    ],
    [
      "slower-with-each",
      "R-ACK-05",
      "Reads its whole log for each event, and so gets slower.",
      (_, { deadline }) => {
        let count = 0
        return { acknowledge: () => pause((deadline / 40) * count++).then(() => acknowledged) }
      }
    ]
  ),
  ...faults(2, { profile: "load" })([
    "queue-overflows",
    "R-LOS-01",
    "Answers 200 and puts events into a queue with room for 40, which is emptied at 30 a second; what finds no room is dropped.",
    (_, { ledger, now }) => {
      const queue: Array<() => void> = []
      const timer = setInterval(() => {
        if (ledger.database.isOpen) queue.shift()?.()
        else clearInterval(timer)
      }, 33).unref()
      return {
        keep: async (key, delivery, request) => {
          if (ledger.isKnown(key)) return false
          ledger.mark(key, now())
          if (queue.length < 40) queue.push(() => ledger.act(effectOf(delivery, request)))
          return true
        }
      }
    }
  ])
]
