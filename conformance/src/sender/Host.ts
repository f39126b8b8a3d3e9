/**
 * The receiver that the suite hosts for a sender. It answers by a plan and records all requests.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"

/** The answer to one attempt. */
export type Treatment =
  | { readonly k: "status"; readonly status: number }
  | { readonly k: "redirect"; readonly status: number }
  /** The connection is closed without an answer. */
  | { readonly k: "reset" }
  /** 200, after this share of the deadline. */
  | { readonly k: "after"; readonly share: number }

export const acknowledge: Treatment = { k: "status", status: 200 }

/** For each event, in order of arrival, the answers to its attempts before the acknowledgement. */
export const plan: ReadonlyArray<ReadonlyArray<Treatment>> = [
  [],
  [{ k: "status", status: 500 }],
  [{ k: "status", status: 202 }],
  [{ k: "redirect", status: 302 }],
  [{ k: "redirect", status: 307 }],
  [{ k: "reset" }],
  [{ k: "after", share: 1.3 }],
  [{ k: "after", share: 0.8 }],
  [{ k: "status", status: 204 }],
  [
    // The delay before a first retry is known from other events, so a sender that gives up after a 404 is detected.
    { k: "status", status: 404 },
    { k: "status", status: 503 }
  ]
]

/** Returns the answer to an attempt of an event, both counted from 0. */
const treatmentOf = (event: number, attempt: number): Treatment => plan[event % plan.length]?.[attempt] ?? acknowledge

/** Whether an answer acknowledges the event. */
export const acknowledges = (treatment: Treatment): boolean =>
  treatment.k === "status" ? treatment.status === 200 : treatment.k === "after" && treatment.share < 1

/** One request. `at` is in milliseconds since the host began to listen. */
export interface SeenAttempt {
  readonly at: number
  /** Time of arrival by the host's clock, in milliseconds since the epoch. */
  readonly wallClock: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  /** The answer; null for a request that the sender should not have made. */
  readonly treatment: Treatment | null
  /**
   * Milliseconds from the arrival until the sender closed the connection without waiting for the answer; null if it
   * waited.
   */
  readonly gaveUpAfter: number | null
}

/** All requests about one event: those with the same webhook-id or the same body. */
export interface SeenEvent {
  /** Counted from 1. */
  readonly number: number
  readonly attempts: ReadonlyArray<SeenAttempt>
}

export interface Observation {
  readonly events: ReadonlyArray<SeenEvent>
  /** Requests to the target of redirects. */
  readonly strays: ReadonlyArray<SeenAttempt>
  /** When the host stopped watching, in milliseconds since it began to listen. */
  readonly until: number
}

export const webhookIdOf = ({ headers }: SeenAttempt): string => headers["webhook-id"] ?? ""

export interface HostOptions {
  readonly host: string
  readonly port: number
  /** How long the sender should wait for an answer, in milliseconds. */
  readonly deadline: number
}

export interface Host {
  readonly url: string
  readonly observation: () => Observation
  /** Number of events that have arrived. */
  readonly events: () => number
  /** Whether each event that arrived was acknowledged. */
  readonly allAcknowledged: () => boolean
  /** Milliseconds since the last arrival or answer of a request. */
  readonly quietFor: () => number
}

/** The error when the host can't listen at its address. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", { message: Schema.String }) {}

/** The target of redirects, which no sender should follow. */
const elsewhere = "/elsewhere"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

/** Listens until the scope is closed. */
export const host = ({ deadline, host, port }: HostOptions): Effect.Effect<Host, CannotListen, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const start = performance.now()
    const events: Array<Array<Mutable<SeenAttempt>>> = []
    const strays: Array<SeenAttempt> = []
    const timers = new Set<NodeJS.Timeout>()
    let lastActivity = start
    const busy = (): void => void (lastActivity = performance.now())

    const eventOf = (attempt: SeenAttempt): number => {
      const isSame = (other: SeenAttempt): boolean =>
        other.body === attempt.body || (webhookIdOf(attempt) !== "" && webhookIdOf(other) === webhookIdOf(attempt))
      const known = events.findIndex((attempts) => attempts.some(isSame))
      return known === -1 ? events.push([]) - 1 : known
    }

    const reply = (treatment: Treatment, seen: Mutable<SeenAttempt>, response: ServerResponse): void => {
      switch (treatment.k) {
        case "status":
          response.writeHead(treatment.status).end()
          return
        case "redirect":
          response.writeHead(treatment.status, { location: elsewhere }).end()
          return
        case "reset":
          response.socket?.destroy()
          return
        case "after": {
          const timer = setTimeout(() => {
            timers.delete(timer)
            busy()
            response.writeHead(200).end()
          }, treatment.share * deadline)
          timers.add(timer)
          response.on("close", () => {
            busy()
            if (!response.writableEnded) seen.gaveUpAfter = performance.now() - start - seen.at
          })
        }
      }
    }

    const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const at = performance.now() - start
      const seen: Mutable<SeenAttempt> = {
        at,
        wallClock: clock.currentTimeMillisUnsafe(),
        method: request.method ?? "",
        path: request.url ?? "",
        headers: Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value])
        ),
        body: await readBody(request),
        treatment: null,
        gaveUpAfter: null
      }
      busy()
      if (seen.path.startsWith(elsewhere)) {
        strays.push(seen)
        response.writeHead(200).end()
        return
      }
      const event = eventOf(seen)
      const attempts = events[event] ?? []
      const treatment = treatmentOf(event, attempts.length)
      seen.treatment = treatment
      attempts.push(seen)
      reply(treatment, seen, response)
    }

    const server = createServer((request, response) => {
      // A request that was broken off does not count as an attempt.
      receive(request, response).catch(() => response.destroy())
    })
    yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          server.listen(port, host)
          await once(server, "listening")
        },
        catch: (error) =>
          new CannotListen({
            message: `Can't listen on ${host}:${port} (${String(error)}). Choose another --port, or 0 for a free one.`
          })
      }),
      () =>
        Effect.sync(() => {
          for (const timer of timers) clearTimeout(timer)
          server.close()
          server.closeAllConnections()
        })
    )
    const address = server.address()
    const actual = address !== null && typeof address === "object" ? address.port : port
    const shownHost = host.includes(":") ? `[${host}]` : host
    return {
      url: `http://${shownHost}:${actual}/hook`,
      observation: () => ({
        events: events.map((attempts, index) => ({ number: index + 1, attempts: [...attempts] })),
        strays: [...strays],
        until: performance.now() - start
      }),
      events: () => events.length,
      allAcknowledged: () =>
        events.every((attempts) => attempts.some(({ treatment }) => treatment !== null && acknowledges(treatment))),
      quietFor: () => performance.now() - lastActivity
    }
  })

const treatmentInWords = (treatment: Treatment, deadline: number): string => {
  switch (treatment.k) {
    case "status":
      return String(treatment.status)
    case "redirect":
      return `${treatment.status} to another URL`
    case "reset":
      return "closed without an answer"
    case "after":
      return `200 after ${Math.round(treatment.share * deadline)} ms`
  }
}

/** Describes when an attempt arrived and how it was answered. */
export const answerInWords = ({ at, gaveUpAfter, treatment }: SeenAttempt, deadline: number): string =>
  `at ${Math.round(at)} ms, answered ${treatment === null ? "200" : treatmentInWords(treatment, deadline)}${gaveUpAfter === null ? "" : `; the sender gave up after ${Math.round(gaveUpAfter)} ms`}`
