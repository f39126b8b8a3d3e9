/**
 * Plays a plan against a running service.
 */
import { maxEventsPerPublish, RetryPolicy } from "@doorhook/core"
import { Array, Clock, Effect, Random, Schema, Stream } from "effect"
import type { HttpClient } from "effect/http"
import { fromIso } from "../plan/IsoTime.ts"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import type { Answer, Service } from "./OperatorApi.ts"
import { greet, publish } from "./OperatorApi.ts"
import { pace } from "./Pace.ts"
import { Tally } from "./Tally.ts"

export interface RunOptions {
  readonly service: Service
  /** The time in the plan at which the run begins, in milliseconds since the epoch. */
  readonly beginning: number
  /** How many times faster than the plan; null for as fast as the service takes them. */
  readonly speed: number | null
  /** Requests open at once. With more than one, batches may overtake each other. */
  readonly maxInFlight: number
}

/** The run could not go on. */
export class RunStopped extends Schema.TaggedError<RunStopped>()("RunStopped", { message: Schema.String }) {}

/** When the first request is made again: the service may just be starting. */
const firstContact: RetryPolicy.RetryPolicy = { delays: [200, 500, 1_000, 2_000], lifetime: null }

/** When a failed request is made again later on: the service may be restarted in the middle of a run. */
const establishedContact: RetryPolicy.RetryPolicy = {
  delays: [...firstContact.delays, 5_000, 10_000, 20_000, 20_000],
  lifetime: null
}

/** An event and when it is to be sent; null for as soon as possible. */
interface Scheduled {
  readonly event: PlannedEvent
  readonly due: number | null
}

/** Makes a request until it is answered for good, or its retries are used up. */
const persistently = Effect.fnUntraced(function* <R>(
  request: Effect.Effect<Answer, never, R>,
  policy: RetryPolicy.RetryPolicy,
  tally: Tally
) {
  for (let attempt = 1; ; attempt++) {
    const answer = yield* request
    if (answer._tag !== "Unavailable") return answer
    const now = yield* Clock.currentTimeMillis
    const decision = RetryPolicy.next(policy, {
      failed: attempt,
      publishedAt: now,
      now,
      random: yield* Random.next,
      retryAfter: answer.retryAfter
    })
    if (decision._tag !== "RetryAt") return answer
    tally.retried()
    yield* Effect.sleep(decision.at - now)
  }
})

const isKeyRefused = (answer: Answer): boolean =>
  answer._tag === "Refused" && (answer.status === 401 || answer.status === 403)

const keyRefused = ({ url }: Service): RunStopped =>
  new RunStopped({ message: `${url} refused the operator key. Give the key of that service.` })

const notThere = ({ url }: Service): RunStopped =>
  new RunStopped({ message: `${url} has no /operator/events: is it the base URL of a doorhook service?` })

const notReached = ({ url }: Service, why: string): RunStopped =>
  new RunStopped({ message: `${url} could not be reached (${why}). Is the service running?` })

/**
 * Publishes every event when its time has come, in batches of what is due.
 *
 * Open loop: an event is due at the beginning of the run plus its time in the plan divided by the speed, however long
 * the service takes. What starts late is counted as late, and sent all the same. Requests that fail are made again, with
 * the same idempotency key; what the service still does not take counts as failed, and the run goes on. It stops when
 * the service is not there at its beginning, or refuses the key. The tally can be read while it goes on.
 */
export const run = Effect.fnUntraced(function* <E, R>(
  events: Stream.Stream<PlannedEvent, E, R>,
  options: RunOptions,
  tally: Tally = new Tally()
): Effect.fn.Return<void, E | RunStopped, R | HttpClient.HttpClient> {
  const { service, beginning, speed, maxInFlight } = options
  const runId = `${yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)}`
  let batches = 0
  let began: number | null = null

  const greeting = yield* persistently(greet(service), firstContact, tally)
  if (isKeyRefused(greeting)) return yield* keyRefused(service)
  if (greeting._tag === "Unavailable") return yield* notReached(service, greeting.why)

  const send = Effect.fnUntraced(function* (batch: ReadonlyArray<Scheduled>) {
    const now = yield* Clock.currentTimeMillis
    for (const { due } of batch) if (due !== null) tally.late(now - due)
    tally.due(batch.length)
    const events = batch.map(({ event }) => event)
    const request = publish(service, events, `simulate-${runId}-${batches++}`)
    const answer = yield* persistently(request, establishedContact, tally)
    if (answer._tag === "Accepted") return tally.accepted(batch.length, answer.deliveries)
    tally.failed(batch.length, answer.why)
    if (isKeyRefused(answer)) return yield* keyRefused(service)
    if (answer._tag === "Refused" && answer.status === 404) return yield* notThere(service)
  })

  const schedule = Effect.fnUntraced(function* (chunk: Array.NonEmptyReadonlyArray<PlannedEvent>) {
    // The clock starts when the plan is ready, so that what it takes to get there is not counted as late.
    const start = (began ??= yield* Clock.currentTimeMillis)
    return Array.map(chunk, (event): Scheduled => {
      return { event, due: speed === null ? null : start + Math.ceil((fromIso(event.at) - beginning) / speed) }
    })
  })

  const scheduled = events.pipe(Stream.mapArrayEffect(schedule), Stream.rechunk(maxEventsPerPublish))
  yield* (speed === null ? scheduled : pace<Scheduled>(({ due }) => due ?? 0)(scheduled)).pipe(
    Stream.chunks,
    Stream.mapEffect(send, { concurrency: maxInFlight }),
    Stream.runDrain
  )
})
