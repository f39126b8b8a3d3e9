/**
 * Receivers that handle duplicates wrongly, or mistake two events for one.
 */
import type { Delivery, ReceivedRequest } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import { acknowledged, besideItself, checkThenAct, drops, refuses, refusesUnlike, scopeOf, socketOf } from "./Base.ts"
import type { ReceiverState, Change, WrongReceivers } from "./Base.ts"

/** Recognises duplicates by a key other than the id and the URL. */
const knownBy =
  (key: (delivery: Delivery, request: ReceivedRequest) => string): Change =>
  () => ({ identify: key })

/** Recognises duplicates by the id together with a header. */
const knownByHeader = (name: string): Change => knownBy(({ id }, { headers }) => `${id}/${headers[name] ?? ""}`)

const minute = 60_000
const day = 24 * 60 * minute

/** Forgets ids after this many milliseconds. */
const forgetsAfter =
  (age: number): Change =>
  (correct, { ledger, now }) => ({
    keep: (...given) => {
      ledger.forget("received_at < ?", now() - age)
      return correct.keep(...given)
    }
  })

/** Forgets all ids but the last `count`. */
const remembers =
  (count: number): Change =>
  (correct, { ledger }) => ({
    keep: (...given) => {
      ledger.forget(`rowid <= (SELECT max(rowid) - ${count} FROM doorhook_deliveries)`)
      return correct.keep(...given)
    }
  })

/** Does additional work after an event was stored or dropped as a duplicate. */
const afterwards =
  (more: (box: ReceiverState, isNew: boolean, delivery: Delivery, request: ReceivedRequest) => void): Change =>
  (correct, box) => ({
    keep: async (key, ...given) => {
      const isNew = await correct.keep(key, ...given)
      more(box, isNew, ...given)
      return isNew
    }
  })

const repeated: WrongReceivers = {
  "R-DUP-01": {
    "duplicate-409": ["Answers 409 Conflict to a duplicate.", refuses(409, (_, isNew) => !isNew)],
    "hangs-on-duplicates": [
      "Never answers a duplicate.",
      () => ({ acknowledge: (isNew) => (isNew ? acknowledged : new Promise(() => undefined)) })
    ],
    "other-bytes-refused": [
      "Refuses a duplicate whose body is not the same, byte for byte.",
      refusesUnlike(({ body }) => body, Object.is)
    ],
    "retries-refused": ["Refuses attempts after the first as replays.", refuses(403, ({ attempt }) => attempt > 1)]
  },
  "R-DUP-02": {
    "no-memory": [
      "Acts on every attempt, including duplicates.",
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
      "Drops a duplicate, but has queued a job for it that acts 900 ms later.",
      afterwards(({ act, ledger }, isNew, ...given) => {
        const work = (): void => (ledger.database.isOpen ? act(...given) : undefined)
        if (!isNew) setTimeout(work, 900)
      })
    ],
    "by-worker": [
      "Has four workers that each remember only the ids they have seen themselves.",
      () => {
        let requests = 0
        return { identify: ({ id }) => `${id}/${requests++ % 4}` }
      }
    ],
    "lagging-replica": [
      "Looks ids up in a replica of its database that lags by half a second.",
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
      "Recognises duplicates by a hash of the body's bytes.",
      knownBy(({ body }) => createHash("sha256").update(body).digest("hex"))
    ],
    "by-length": [
      "Recognises duplicates by the id and the length of the body.",
      knownBy(({ body, id }) => `${id}/${body.length}`)
    ],
    "by-timestamp": ["Takes the timestamp for a part of the id.", knownByHeader("webhook-timestamp")],
    "by-minute": [
      "Takes the minute of the timestamp for a part of the id.",
      knownBy(({ id }, { headers }) => `${id}/${Math.floor(Number(headers["webhook-timestamp"]) / 60)}`)
    ],
    "by-attempt": ["Takes the attempt number for a part of the id.", knownByHeader("doorhook-attempt")],
    "by-content-type": ["Takes the content type for a part of the id.", knownByHeader("content-type")],
    "by-connection": [
      "Remembers ids only for the connection they were sent over.",
      knownBy(({ id }, request) => `${id}/${socketOf(request).remotePort}`)
    ]
  },
  "R-DUP-04": {
    "check-then-act": [
      "Checks whether it knows the id, and marks the id one turn of the event loop later.",
      checkThenAct(() => setImmediate()),
      { level: 2 }
    ],
    deadlock: [
      "Makes copies that arrive together wait for each other forever.",
      besideItself(25, () => new Promise(() => undefined))
    ]
  },
  "R-DUP-05": {
    "last-30": ["Remembers only the last 30 ids.", remembers(30)],
    "last-5000": ["Remembers only the last 5,000 ids.", remembers(5_000)],
    "half-a-minute": ["Remembers ids for half a minute.", forgetsAfter(minute / 2)],
    "one-minute": ["Remembers ids for a minute.", forgetsAfter(minute)]
  },
  "R-DUP-06": {
    "ttl-db-60s": ["Remembers ids for a minute, in its database.", forgetsAfter(minute)],
    "one-day": ["Remembers ids for a day, although retries arrive for three days.", forgetsAfter(day)],
    "late-refused": [
      "Refuses an event more than a day after its first attempt.",
      refusesUnlike(
        ({ receivedAt }) => receivedAt,
        (own, first) => own - first <= day
      )
    ]
  },
  "R-DUP-07": {
    "last-wins": [
      "Overwrites the stored body with that of a duplicate.",
      afterwards(({ ledger }, isNew, { body, id }, request) => {
        if (!isNew) ledger.restore({ id, scope: scopeOf(request), stored: body })
      })
    ],
    "changed-refused": [
      "Refuses a duplicate with other data than the first attempt.",
      refusesUnlike(({ event }) => String(event.data["name"] ?? event.data["status"]), Object.is)
    ]
  },
  "R-DUP-08": {
    "one-scope": ["Drops an event at one URL because it was already sent to another.", knownBy(({ id }) => id)],
    "first-url-only": [
      "Acknowledges events at a tenant's URL without acting on them.",
      drops((_, request) => scopeOf(request) !== "/hook")
    ]
  }
}

const dataId = ({ event }: Delivery): string => String(event.data["id"])

/** Hashes like Java's `String.hashCode`. */
const stringHash = (text: string): number => {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}

const takenForOne: WrongReceivers = {
  "R-NEW-01": {
    "folded-ids": [
      "Ignores case when it compares ids, like the collation of a database.",
      knownBy(({ id }) => id.toLowerCase())
    ],
    "cut-ids": [
      "Keeps only the first 30 characters of an id, because its column is too short.",
      knownBy(({ id }) => id.slice(0, Math.min(30, id.length - 1)))
    ],
    "end-of-ids": ["Keeps only the last 20 characters of an id.", knownBy(({ id }) => id.slice(-20))],
    "hashed-ids": [
      "Keeps eight digits of a hash instead of the id.",
      knownBy(({ id }) => createHash("sha256").update(id).digest("hex").slice(0, 8))
    ],
    "32-bit-ids": [
      "Keeps the lower 32 bits of data.id.",
      knownBy((delivery) => `${delivery.event.resource_type} ${Number(dataId(delivery)) % 2 ** 32}`)
    ],
    "rounded-ids": [
      "Reads data.id as a double, which makes ids beyond 2^53 equal.",
      knownBy((delivery) => `${delivery.event.resource_type} ${dataId(delivery)}`)
    ],
    "id-without-type": ["Treats an access log and a call with the same data.id as duplicates.", knownBy(dataId)],
    "numeric-ids": [
      "Stores ids in an untyped column, which turns ids that look like numbers into numbers.",
      knownBy(({ id }) => (/^\d+$/.test(id) ? String(Number(id)) : id))
    ],
    "letters-and-digits": [
      "Compares only the letters and digits of ids.",
      knownBy(({ id }) => id.replaceAll(/[^A-Za-z0-9]/g, ""))
    ],
    "string-hash-ids": [
      "Stores its language's hash code of the id instead of the id.",
      knownBy(({ id }) => String(stringHash(id)))
    ],
    "one-a-minute": [
      "Has a unique index on the type and the minute of an event.",
      knownBy(({ event }) => `${event.resource_type} ${String(event.data["logged_at"]).slice(0, 16)}`)
    ]
  }
}

export const duplicateRows: WrongReceivers = { ...repeated, ...takenForOne }
