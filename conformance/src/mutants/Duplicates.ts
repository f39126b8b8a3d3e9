/**
 * Receivers that handle duplicates wrongly, or take two events for one.
 */
import type { Delivery, ReceivedRequest } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import { besideItself, checkThenAct, drops, refuses, refusesUnlike, scopeOf, socketOf } from "./Base.ts"
import type { ReceiverState, Change, Rows } from "./Base.ts"

/** Recognises duplicates by another key than the id and the URL. */
const knownBy =
  (key: (delivery: Delivery, request: ReceivedRequest) => string): Change =>
  () => ({ identify: key })

const minute = 60_000
const day = 24 * 60 * minute

/** Forgets what it has seen after a while, in milliseconds. */
const forgetsAfter =
  (age: number): Change =>
  (correct, { ledger, now }) => ({
    keep: (...given) => {
      ledger.forget("received_at < ?", now() - age)
      return correct.keep(...given)
    }
  })

/** Does something more after an event was kept, or dropped as a duplicate. */
const afterwards =
  (more: (box: ReceiverState, isNew: boolean, delivery: Delivery, request: ReceivedRequest) => void): Change =>
  (correct, box) => ({
    keep: async (key, ...given) => {
      const isNew = await correct.keep(key, ...given)
      more(box, isNew, ...given)
      return isNew
    }
  })

const repeated: Rows = {
  "R-DUP-01": {
    "duplicate-409": ["Answers 409 Conflict to a duplicate.", refuses(409, (_, isNew) => !isNew)],
    "retries-refused": ["Refuses attempts after the first as replays.", refuses(403, ({ attempt }) => attempt > 1)]
  },
  "R-DUP-02": {
    "no-memory": [
      "Drops no duplicates.",
      (_, { act }) => ({
        keep: async (_key, ...given) => {
          act(...given)
          return true
        }
      })
    ],
    "two-subscribers": [
      "Has two subscribers that both do the same.",
      afterwards(({ act }, isNew, ...given) => {
        if (isNew) act(...given)
      })
    ],
    "queued-again": [
      "Drops a duplicate, and a job that was queued for it acts all the same, a while later.",
      afterwards(({ act, ledger }, isNew, ...given) => {
        const work = (): void => (ledger.database.isOpen ? act(...given) : undefined)
        if (!isNew) setTimeout(work, 900)
      })
    ],
    "by-worker": [
      "Has four workers, each with a memory of its own.",
      () => {
        let requests = 0
        return { identify: ({ id }) => `${id}/${requests++ % 4}` }
      }
    ],
    "lagging-replica": [
      "Looks ids up in a copy of its database that is half a second behind.",
      (_, { act }) => {
        const seen = new Map<string, number>()
        return {
          keep: async (key, ...given) => {
            const since = seen.get(key) ?? Date.now()
            seen.set(key, since)
            if (Date.now() - since > 500) return false
            act(...given)
            return true
          }
        }
      }
    ]
  },
  "R-DUP-03": {
    "by-bytes": [
      "Knows duplicates by a hash of the body's bytes.",
      knownBy(({ body }) => createHash("sha256").update(body).digest("hex"))
    ],
    "by-connection": [
      "Keeps what it has seen with the connection.",
      knownBy(({ id }, request) => `${id}/${socketOf(request).remotePort}`)
    ]
  },
  "R-DUP-04": {
    "check-then-act": [
      "Looks whether it knows the id, and marks it a turn of the event loop later.",
      checkThenAct(() => setImmediate()),
      { level: 2 }
    ],
    deadlock: [
      "Lets copies that come together wait for each other forever.",
      besideItself(25, () => new Promise(() => undefined))
    ]
  },
  "R-DUP-05": {
    "lru-db-5000": [
      "Remembers the last 5,000 ids only.",
      (correct, { ledger }) => ({
        keep: (...given) => {
          ledger.forget("rowid <= (SELECT max(rowid) - 5000 FROM doorhook_deliveries)")
          return correct.keep(...given)
        }
      })
    ],
    "half-a-minute": ["Remembers ids for half a minute.", forgetsAfter(minute / 2)]
  },
  "R-DUP-06": {
    "ttl-db-60s": ["Remembers ids for a minute, in its database.", forgetsAfter(minute)],
    "one-day": ["Remembers ids for a day; retries come for three.", forgetsAfter(day)],
    "late-refused": [
      "Refuses what was first sent more than a day ago.",
      refusesUnlike(
        ({ receivedAt }) => receivedAt,
        (own, first) => own - first <= day
      )
    ]
  },
  "R-DUP-07": {
    "last-wins": [
      "Writes a later body over the first one.",
      afterwards(({ ledger }, isNew, { body, id }, request) => {
        if (!isNew) ledger.restore({ id, scope: scopeOf(request), stored: body })
      })
    ],
    "changed-refused": [
      "Refuses a duplicate whose data differ from the first.",
      refusesUnlike(({ event }) => String(event.data["name"] ?? event.data["status"]), Object.is)
    ]
  },
  "R-DUP-08": {
    "one-scope": ["Drops an event at one URL because another URL had it.", knownBy(({ id }) => id)],
    "first-url-only": [
      "Acknowledges what comes to a tenant's URL and does nothing.",
      drops((_, request) => scopeOf(request) !== "/hook")
    ]
  }
}

const dataId = ({ event }: Delivery): string => String(event.data["id"])

/** As `String.hashCode` of Java. */
const stringHash = (text: string): number => {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}

const takenForOne: Rows = {
  "R-NEW-01": {
    "folded-ids": [
      "Compares ids without regard to case, as a database's collation does.",
      knownBy(({ id }) => id.toLowerCase())
    ],
    "cut-ids": [
      "Keeps the first 30 characters of an id, in a column too short for it.",
      knownBy(({ id }) => id.slice(0, Math.min(30, id.length - 1)))
    ],
    "rounded-ids": [
      "Reads data.id as a double: ids beyond 2^53 fall together.",
      knownBy((delivery) => `${delivery.event.resource_type} ${dataId(delivery)}`)
    ],
    "id-without-type": ["Takes an access log and a call with the same data.id for one.", knownBy(dataId)],
    "numeric-ids": [
      "Has a column of a type without a fixed one, which turns ids that look like numbers into numbers.",
      knownBy(({ id }) => (/^\d+$/.test(id) ? String(Number(id)) : id))
    ],
    "letters-and-digits": [
      "Takes all but letters and digits out of ids before it compares them.",
      knownBy(({ id }) => id.replaceAll(/[^A-Za-z0-9]/g, ""))
    ],
    "string-hash-ids": [
      "Keeps the hash code that its language gives to texts instead of the id.",
      knownBy(({ id }) => String(stringHash(id)))
    ],
    "one-a-minute": [
      "Has a unique index on the type and the minute of an event.",
      knownBy(({ event }) => `${event.resource_type} ${String(event.data["logged_at"]).slice(0, 16)}`)
    ]
  }
}

export const duplicateRows: Rows = { ...repeated, ...takenForOne }
