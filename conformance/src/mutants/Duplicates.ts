/**
 * Receivers that do wrong by an event that comes again.
 */
import type { ReceivedRequest } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import { acknowledged, effectOf, pause, plain, scopeOf, socketOf } from "./Base.ts"
import type { Change } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

/** Answers a duplicate with a status. */
const duplicateAnswered =
  (status: number, body: string): Change =>
  () => ({ acknowledge: (isNew) => (isNew ? acknowledged : plain(status, body)) })

/** Knows duplicates by something else. */
const knownBy =
  (
    key: (given: { body: string; header: (name: string) => string; id: string; request: ReceivedRequest }) => string
  ): Change =>
  () => ({
    identify: ({ body, id }, request) => key({ body, id, request, header: (name) => request.headers[name] ?? "" })
  })

/** Looks whether it knows the event, then takes this many milliseconds over the work, then marks it. */
export const checkThenAct =
  (milliseconds: number): Change =>
  (_, { ledger, now }) => ({
    keep: async (key, delivery, request) => {
      if (ledger.isKnown(key)) return false
      await pause(milliseconds)
      ledger.act(effectOf(delivery, request))
      return ledger.mark(key, now())
    }
  })

/** Forgets what it has seen after a while, in milliseconds. */
const forgetsAfter =
  (age: number): Change =>
  (correct, { ledger, now }) => ({
    keep: (...given) => {
      ledger.forgetBefore(now() - age)
      return correct.keep(...given)
    }
  })

const remembersLast =
  (count: number): Change =>
  (correct, { ledger }) => ({
    keep: (...given) => {
      ledger.forgetAllBut(count)
      return correct.keep(...given)
    }
  })

const minute = 60_000
const day = 24 * 60 * minute

export const duplicateFaults: ReadonlyArray<Fault> = [
  ...faults(1)(
    ["duplicate-409", "R-DUP-01", "Answers 409 Conflict to a duplicate.", duplicateAnswered(409, "already there")],
    ["duplicate-208", "R-DUP-01", "Answers 208 Already Reported to a duplicate.", duplicateAnswered(208, "known")],
    ["duplicate-500", "R-DUP-01", "Lets the unique constraint end in a 500.", duplicateAnswered(500, "UNIQUE")],
    [
      "retries-refused",
      "R-DUP-01",
      "Refuses attempts after the first as replays.",
      () => ({ acknowledge: (_, { attempt }) => (attempt === 1 ? acknowledged : plain(403, "replayed")) })
    ]
  ),
  ...faults(2)(
    [
      "no-memory",
      "R-DUP-02",
      "Drops no duplicates.",
      (_, { ledger }) => ({
        keep: async (__, delivery, request) => {
          ledger.act(effectOf(delivery, request))
          return true
        }
      })
    ],
    [
      "two-subscribers",
      "R-DUP-02",
      "Has two subscribers that both do the same.",
      (correct, { ledger }) => ({
        keep: async (key, delivery, request) => {
          const isNew = await correct.keep(key, delivery, request)
          if (isNew) ledger.act(effectOf(delivery, request))
          return isNew
        }
      })
    ],
    [
      "queued-again",
      "R-DUP-02",
      "Drops a duplicate, and a job that was queued for it acts all the same, a while later.",
      (correct, { ledger }) => ({
        keep: async (key, delivery, request) => {
          const isNew = await correct.keep(key, delivery, request)
          if (!isNew) {
            // What comes after the receiver's end has no effect any more.
            void pause(900)
              .then(() => ledger.act(effectOf(delivery, request)))
              .catch(() => undefined)
          }
          return isNew
        }
      })
    ],
    [
      "by-attempt",
      "R-DUP-02",
      "Knows duplicates by id and attempt number.",
      knownBy(({ header, id }) => `${id}/${header("doorhook-attempt")}`)
    ],
    [
      "by-worker",
      "R-DUP-02",
      "Has four workers, each with a memory of its own.",
      () => {
        let requests = 0
        return { identify: ({ id }) => `${id}/${requests++ % 4}` }
      }
    ],
    [
      "while-running",
      "R-DUP-02",
      "Drops a duplicate only while the first is worked on.",
      (_, { ledger }) => {
        const running = new Set<string>()
        return {
          keep: async (key, delivery, request) => {
            if (running.has(key)) return false
            running.add(key)
            await pause(5)
            ledger.act(effectOf(delivery, request))
            return running.delete(key)
          }
        }
      }
    ],
    [
      "by-bytes",
      "R-DUP-03",
      "Knows duplicates by a hash of the body's bytes.",
      knownBy(({ body }) => createHash("sha256").update(body).digest("hex"))
    ],
    [
      "by-length",
      "R-DUP-03",
      "Knows duplicates by their id and the length of the body.",
      knownBy(({ body, id }) => `${id}/${body.length}`)
    ],
    [
      "by-connection",
      "R-DUP-03",
      "Keeps what it has seen with the connection.",
      () => {
        const numbers = new WeakMap<object, number>()
        let sockets = 0
        return {
          identify: ({ id }, request) => {
            const socket = socketOf(request)
            if (!numbers.has(socket)) numbers.set(socket, ++sockets)
            return `${id}/${numbers.get(socket)}`
          }
        }
      }
    ],
    ["check-then-act", "R-DUP-04", "Looks whether it knows the id, then works, then marks it.", checkThenAct(25)],
    [
      "one-turn-between",
      "R-DUP-04",
      "Looks whether it knows the id, and marks it a turn of the event loop later.",
      (_, { ledger, now }) => ({
        keep: async (key, delivery, request) => {
          if (ledger.isKnown(key)) return false
          await setImmediate()
          ledger.act(effectOf(delivery, request))
          return ledger.mark(key, now())
        }
      })
    ],
    [
      "deadlock",
      "R-DUP-04",
      "Lets copies that come together wait for each other forever.",
      (correct) => {
        const running = new Set<string>()
        return {
          keep: async (key, delivery, request) => {
            if (running.has(key)) return new Promise(() => undefined)
            running.add(key)
            await pause(25)
            running.delete(key)
            return correct.keep(key, delivery, request)
          }
        }
      }
    ],
    ["last-twenty", "R-DUP-05", "Remembers the last twenty ids only.", remembersLast(20)],
    ["last-thousand", "R-DUP-05", "Remembers the last thousand ids only.", remembersLast(1_000)],
    ["half-a-minute", "R-DUP-05", "Remembers ids for half a minute.", forgetsAfter(minute / 2)]
  ),
  ...faults(2, { found: "WARN" })(
    [
      "last-wins",
      "R-DUP-07",
      "Writes a later body over the first one.",
      (correct, { ledger }) => ({
        keep: async (key, delivery, request) => {
          const isNew = await correct.keep(key, delivery, request)
          if (!isNew) ledger.restore(effectOf(delivery, request))
          return isNew
        }
      })
    ],
    [
      "changed-refused",
      "R-DUP-07",
      "Refuses a duplicate whose data differ from the first.",
      () => {
        const first = new Map<string, string>()
        return {
          acknowledge: (_, { event, id }) => {
            const name = String(event.data["name"] ?? event.data["status"])
            if (!first.has(id)) first.set(id, name)
            return first.get(id) === name ? acknowledged : plain(409, "another event has this id")
          }
        }
      }
    ]
  ),
  ...faults(2, { profile: "clock" })(
    ["one-minute", "R-DUP-06", "Remembers ids for a minute, in its database.", forgetsAfter(minute)],
    ["one-day", "R-DUP-06", "Remembers ids for a day; retries come for three.", forgetsAfter(day)],
    [
      "late-refused",
      "R-DUP-06",
      "Refuses what was first sent more than a day ago.",
      (_, { now }) => {
        const first = new Map<string, number>()
        return {
          acknowledge: (__, { id }) => {
            const since = first.get(id) ?? now()
            first.set(id, since)
            return now() - since > day ? plain(410, "too late") : acknowledged
          }
        }
      }
    ]
  ),
  ...faults(2, { profile: "tenant" })(
    ["one-scope", "R-DUP-08", "Drops an event at one URL because another URL had it.", knownBy(({ id }) => id)],
    [
      "first-url-only",
      "R-DUP-08",
      "Acknowledges what comes to a tenant's URL and does nothing.",
      (correct) => ({
        keep: async (key, delivery, request) => scopeOf(request) === "/hook" && correct.keep(key, delivery, request)
      })
    ]
  )
]
