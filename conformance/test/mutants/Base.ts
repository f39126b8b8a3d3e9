/**
 * Base of the faulty receivers: an HTTP server with `@doorhook/receiver`, in which a change replaces some parts. It
 * serves the hook at `/hook` and below, a probe and a control URL. This module also has the ledger, and changes that
 * several faulty receivers share.
 */
import {
  createReceiver,
  isExpired,
  nodeRequest,
  parseEvent,
  receiverSchema,
  Refusal,
  sendAnswer,
  sqliteStore
} from "@doorhook/receiver"
import type { Answer, Delivery, ReceivedRequest, ReceiverParts, StandardParts } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer, IncomingMessage } from "node:http"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { DatabaseSync } from "node:sqlite"
import { setImmediate } from "node:timers/promises"
import { canonical } from "../../src/history/Json.ts"
import { dataOf } from "../../src/report/Blocks.ts"
import type { Level, Profile, Requirement } from "../../src/requirements/Requirement.ts"

/** The sender's deadline, in milliseconds. */
export const deadline = 5_000

/** The state of a receiver process. */
export interface ReceiverState {
  readonly ledger: Ledger
  /** Returns the receiver's time in milliseconds since the epoch. The control URL can move this clock forward. */
  readonly now: () => number
  /** Secret to check signatures with; null to check none. */
  readonly secret: string | null
  /** Marks a key as seen; returns whether it was not marked before. */
  readonly mark: (key: string) => boolean
  /** Acts on a delivery; `stored` is the body to store. */
  readonly act: (delivery: Delivery, request: ReceivedRequest, stored?: string) => void
  /** Marks and acts in one transaction; resolves to whether the key was new. */
  readonly once: (key: string, delivery: Delivery, request: ReceivedRequest, stored?: string) => Promise<boolean>
}

/** Replaceable parts of the server around the kit's receiver. */
interface ServerParts {
  /** Runs before the server listens. */
  readonly start: () => void | Promise<void>
  /** Handles a request that waits for `100 Continue`: an answer refuses it, `ignore` lets it wait, null continues. */
  readonly expect: (request: IncomingMessage) => Answer | "ignore" | null
  readonly send: (answer: Answer, request: IncomingMessage, response: ServerResponse) => void
  /** Returns the number of effects that the probe reports. */
  readonly count: (id: string, scope: string | null) => number
}

/** A change to the correct receiver: returns the parts to replace. */
export type Change = (correct: StandardParts & ServerParts, box: ReceiverState) => Partial<ReceiverParts & ServerParts>

export const plain = (status: number, body = "", headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body
})

export const acknowledged = plain(200, "ok")

/** Returns the path that a request was sent to. */
export const scopeOf = ({ url }: ReceivedRequest): string => url.split("?")[0] ?? url

export const socketOf = ({ source }: ReceivedRequest): Socket => incoming(source).socket

export const incoming = (source: unknown): IncomingMessage => {
  if (source instanceof IncomingMessage) return source
  throw new TypeError("expected a request of node:http")
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))

/**
 * Works for some milliseconds, and then reads what has arrived in the meantime. Without the reading, a process that was
 * stalled would not know that a sender has hung up: timers that are due run before the sockets are read.
 */
export const work = async (milliseconds: number): Promise<void> => {
  await pause(milliseconds)
  // The first turn reads the end of the connection, the second closes it.
  await setImmediate()
  await setImmediate()
}

/** Returns the path of the endpoint in a probe request, which may give its whole URL. */
const scopeAsked = (given: string | null): string | null =>
  given === null || given.startsWith("/") ? given : new URL(given).pathname

const json = (value: unknown): Answer => plain(200, JSON.stringify(value), { "content-type": "application/json" })

const operate = (
  { pathname, searchParams }: URL,
  { count }: ServerParts,
  ledger: Ledger,
  clock: { ahead: number }
): Answer | null => {
  const id = searchParams.get("id") ?? ""
  const scope = scopeAsked(searchParams.get("endpoint"))
  switch (pathname) {
    case "/probe": {
      const read = ledger.stored(id, scope)
      return json({ effects: count(id, scope), ...(read === null ? {} : shownOf(read)) })
    }
    case "/control":
      return json({ ops: ["advance"] })
    case "/control/double":
      ledger.act({ id, scope: scope ?? "/hook", stored: ledger.stored(id, scope) ?? "{}" })
      return json({ doubled: id })
    case "/control/advance":
      clock.ahead += Number(searchParams.get("ms") ?? 0)
      return json({ ahead: clock.ahead })
    case "/ready":
      return plain(200, "ready")
    default:
      return pathname.startsWith("/hook") ? null : plain(404)
  }
}

export interface ServerOptions {
  /** 0 takes any free port. */
  readonly port: number
  /** A file name, or `:memory:`. */
  readonly database: string
  readonly secret: string | null
  readonly change: Change
}

export interface RunningServer {
  readonly port: number
  /** Closes the server and every connection, as if the process died. */
  readonly die: () => Promise<void>
}

/** Starts a receiver that is correct except for a change. */
export const startServer = async ({ change, database, port, secret }: ServerOptions): Promise<RunningServer> => {
  const clock = { ahead: 0 }
  const now = (): number => Date.now() + clock.ahead
  const ledger = openLedger(database)
  const store = sqliteStore(ledger.database)
  const act: ReceiverState["act"] = (delivery, request, stored = delivery.body) => {
    const isLate = isExpired(delivery, now()) || (delivery.isReplay && isCall(delivery))
    ledger.act({ id: delivery.id, scope: scopeOf(request), stored }, isLate ? 0 : 1)
  }
  const box: ReceiverState = {
    ledger,
    now,
    secret,
    mark: (key) => ledger.mark(key, now()),
    act,
    once: (key, delivery, ...given) => store.keep(key, delivery, () => act(delivery, ...given), null)
  }
  const usual: ServerParts = { start: () => undefined, expect: () => null, send: sendAnswer, count: ledger.count }
  let around = usual
  const receiver = createReceiver({
    secrets: secret === null ? "allow_unsigned" : [secret],
    store,
    now,
    // Changed parts may be slow on purpose. With the default limit, the kit would answer before they do.
    answerWithinMs: 3_600_000,
    onProblem: () => undefined,
    parts: (standard) => {
      const correct: StandardParts & ServerParts = {
        ...standard,
        ...usual,
        identify: ({ id }, request) => `${scopeOf(request)} ${id}`,
        keep: (key, delivery, request) => box.once(key, delivery, request)
      }
      const parts = { ...correct, ...change(correct, box) }
      around = parts
      return parts
    }
  })
  await around.start()

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const operated = operate(new URL(request.url ?? "/", "http://receiver"), around, ledger, clock)
    if (operated !== null) {
      response.writeHead(operated.status, operated.headers).end(operated.body)
      return
    }
    void receiver.handle(nodeRequest(request)).then((given) => around.send(given, request, response))
  }
  // Slow senders and idle connections are allowed.
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, listener)
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    const refusal = around.expect(request)
    if (refusal === null) {
      response.writeContinue()
      listener(request, response)
    } else if (refusal !== "ignore") {
      response.writeHead(refusal.status, { ...refusal.headers, connection: "close" }).end(refusal.body)
    }
  })
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: address !== null && typeof address === "object" ? address.port : port,
    die: async () => {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, "close")
      ledger.close()
    }
  }
}

/** Faulty receivers by name, grouped by the requirement that must fail them. The first of a group is the most typical. */
export interface WrongReceivers {
  readonly [requirement: Requirement["id"]]: Readonly<Record<string, WrongReceiver>>
}

type WrongReceiver = readonly [
  /** What the receiver does wrong, in one sentence. */
  does: string,
  change: Change,
  /** Level, profile and verdict, where they differ from those of the requirement. */
  tried?: { readonly level?: Level; readonly profile?: Profile; readonly found?: "FAIL" | "WARN" }
]

export const idOf = ({ headers }: ReceivedRequest): string => headers["webhook-id"] ?? ""

/** The key that the correct receiver marks. */
export const keyOf = (request: ReceivedRequest): string => `${scopeOf(request)} ${idOf(request)}`

export const isCall = ({ event }: Delivery): boolean => event.resource_type === "call"

export const isEvent = (body: Uint8Array): boolean => !("wrong" in parseEvent(body))

/** Whether the sender has hung up. */
export const isGone = (request: ReceivedRequest): boolean => socketOf(request).destroyed

/** Refuses some or all events after the work is done. */
export const refuses =
  (status: number, isRefused: (delivery: Delivery, isNew: boolean) => boolean = () => true): Change =>
  () => ({
    acknowledge: (isNew, delivery) => (isRefused(delivery, isNew) ? plain(status, "refused") : acknowledged)
  })

/** Refuses attempts that do not match the first attempt of their event. */
export const refusesUnlike =
  <A>(of: (delivery: Delivery, request: ReceivedRequest) => A, fits: (own: A, first: A) => boolean): Change =>
  () => {
    const firsts = new Map<string, A>()
    return {
      acknowledge: (_, delivery, request) => {
        const own = of(delivery, request)
        const first = firsts.get(delivery.id) ?? own
        firsts.set(delivery.id, first)
        return fits(own, first) ? acknowledged : plain(409, "not as before")
      }
    }
  }

/** Refuses some requests before their body is read. */
export const turnsAway =
  (status: number, isRefused: (request: ReceivedRequest) => boolean): Change =>
  (correct) => ({
    admit: (request) => {
      correct.admit(request)
      if (isRefused(request)) throw new Refusal(status, "not here")
    }
  })

export const unavailable = (): Refusal => new Refusal(503, "busy", { headers: { "retry-after": "1" } })

/** A limit of requests a second, or in another time. */
interface RateLimit {
  readonly rate: number
  /** The time in which it counts, in milliseconds. */
  readonly within?: number
  readonly status?: number
  /** The `retry-after` header; null for none. */
  readonly asks?: string | null
  /** Whether refused requests count too. */
  readonly countsRefused?: boolean
  /** What is limited; by default everything together. */
  readonly of?: (request: ReceivedRequest) => unknown
}

/** Refuses requests beyond a rate before it reads them, over a sliding time. */
export const limitsTo =
  ({ asks = "1", countsRefused = false, of = () => null, rate, status = 429, within = 1_000 }: RateLimit): Change =>
  (correct) => {
    const taken = new Map<unknown, Array<number>>()
    return {
      admit: (request) => {
        const key = of(request)
        const now = performance.now()
        const recent = (taken.get(key) ?? []).filter((at) => at > now - within)
        taken.set(key, recent)
        const isRefused = recent.length >= rate
        if (!isRefused || countsRefused) recent.push(now)
        if (isRefused) {
          throw new Refusal(status, "slow down", { headers: asks === null ? {} : { "retry-after": asks } })
        }
        correct.admit(request)
      }
    }
  }

/** Handles no request in the first 700 ms of each second, and then all that have arrived, as a busy machine does. */
export const stalls =
  (change: Change): Change =>
  (correct, box) => {
    const parts = change(correct, box)
    const { admit = correct.admit } = parts
    return {
      ...parts,
      admit: async (request) => {
        await pause(Math.max(0, 700 - (performance.now() % 1_000)))
        await admit(request)
      }
    }
  }

/**
 * Calls `otherwise` for an event that arrives while `most` others are being processed. Processing an event takes some
 * milliseconds.
 */
export const besideOthers =
  (most: number, otherwise: (box: ReceiverState, key: string) => boolean): Change =>
  (correct, box) => {
    let busy = 0
    return {
      keep: async (key, ...given) => {
        if (busy >= most) return otherwise(box, key)
        busy += 1
        await pause(12)
        busy -= 1
        return correct.keep(key, ...given)
      }
    }
  }

/**
 * Calls `otherwise` for a copy that arrives while the first copy is being processed. Processing takes this many
 * milliseconds.
 */
export const besideItself =
  (milliseconds: number, otherwise: () => Promise<boolean>): Change =>
  (correct) => {
    const running = new Set<string>()
    return {
      keep: async (key, ...given) => {
        if (running.has(key)) return otherwise()
        running.add(key)
        await pause(milliseconds)
        const isNew = await correct.keep(key, ...given)
        running.delete(key)
        return isNew
      }
    }
  }

/** Acknowledges some events without acting on them. */
export const drops =
  (isDropped: (delivery: Delivery, request: ReceivedRequest) => boolean): Change =>
  (correct) => ({
    keep: async (key, ...given) => !isDropped(...given) && correct.keep(key, ...given)
  })

/** Stores every event once, and acts on it unless it is late. */
export const actsUnless =
  (isLate: (delivery: Delivery) => boolean): Change =>
  (_, { ledger, mark }) => ({
    keep: async (key, delivery, request) => {
      if (!mark(key)) return false
      const { body, id } = delivery
      ledger.act({ id, scope: scopeOf(request), stored: body }, isLate(delivery) ? 0 : 1)
      return true
    }
  })

/** Checks whether the event is known, waits, acts, and then marks it. */
export const checkThenAct =
  (wait: () => Promise<unknown>): Change =>
  (_, { act, ledger, mark }) => ({
    keep: async (key, ...given) => {
      if (ledger.isKnown(key)) return false
      await wait()
      act(...given)
      return mark(key)
    }
  })

interface StoredEffect {
  readonly id: string
  /** Path that the event was sent to. */
  readonly scope: string
  /** The body as the receiver stored it. */
  readonly stored: string
}

interface Ledger {
  readonly database: DatabaseSync
  /** Whether the key is marked as seen. */
  readonly isKnown: (key: string) => boolean
  /** Marks the key; returns whether it was not marked before. */
  readonly mark: (key: string, at: number) => boolean
  /** Deletes the marks that meet an SQL condition, which has a `?` for each value. */
  readonly forget: (condition: string, ...values: ReadonlyArray<string | number>) => void
  /** Stores an event with its effects: one, or none for an event that came too late to act on. */
  readonly act: (effect: StoredEffect, effects?: 0 | 1) => void
  /** Counts the effects of an event in one scope, or in all scopes for null. */
  readonly count: (id: string, scope: string | null) => number
  /** Returns the first stored body; null if there is none. */
  readonly stored: (id: string, scope: string | null) => string | null
  /** Replaces the stored body. */
  readonly restore: (effect: StoredEffect) => void
  readonly close: () => void
}

const schema = `
CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL, scope TEXT NOT NULL, stored TEXT NOT NULL, effects INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS effects_by_id ON effects (id, scope);`

/** Opens a database file, or a database in memory for `:memory:`. */
const openLedger = (file: string): Ledger => {
  const database = new DatabaseSync(file)
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 3000;")
  database.exec(receiverSchema + schema)
  const marks = "doorhook_deliveries"
  const prepared = {
    known: database.prepare(`SELECT 1 FROM ${marks} WHERE key = ?`),
    mark: database.prepare(
      `INSERT INTO ${marks} (key, id, attempt, replay, body, received_at) VALUES (?, '', 1, 0, '', ?) ON CONFLICT DO NOTHING`
    ),
    act: database.prepare("INSERT INTO effects (id, scope, stored, effects) VALUES (?, ?, ?, ?)"),
    count: database.prepare("SELECT total(effects) AS n FROM effects WHERE id = ? AND (? IS NULL OR scope = ?)"),
    stored: database.prepare(
      "SELECT stored FROM effects WHERE id = ? AND (? IS NULL OR scope = ?) ORDER BY rowid LIMIT 1"
    ),
    restore: database.prepare("UPDATE effects SET stored = ? WHERE id = ? AND scope = ?")
  }
  return {
    database,
    isKnown: (key) => prepared.known.get(key) !== undefined,
    mark: (key, at) => prepared.mark.run(key, at).changes === 1,
    forget: (condition, ...values) => void database.prepare(`DELETE FROM ${marks} WHERE ${condition}`).run(...values),
    act: ({ id, scope, stored }, effects = 1) => void prepared.act.run(id, scope, stored, effects),
    count: (id, scope) => Number(prepared.count.get(id, scope, scope)?.["n"]),
    stored: (id, scope) => {
      const row = prepared.stored.get(id, scope, scope)
      return row === undefined ? null : String(row["stored"])
    },
    restore: ({ id, scope, stored }) => void prepared.restore.run(stored, id, scope),
    close: () => database.close()
  }
}

/**
 * Returns what the probe shows of a stored body: its data and the digest of the data. Null if the body is not an event.
 */
const shownOf = (stored: string): { readonly data: unknown; readonly digest: string } | null => {
  const read = parseEvent(Buffer.from(stored))
  if ("wrong" in read) return null
  const { data } = read.event
  return { data: dataOf(stored), digest: `sha256:${createHash("sha256").update(canonical(data)).digest("hex")}` }
}
