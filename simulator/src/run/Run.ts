/**
 * Plays a plan against a running service.
 */
import { maxEventsPerPublish, RetryPolicy } from "@doorhook/core"
import { Array, Clock, Effect, Random, Schema, Stream } from "effect"
import type { HttpClient } from "effect/http"
import { fromIso } from "../plan/IsoTime.ts"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import type { Answer, Service } from "./OperatorApi.ts"
import { publish } from "./OperatorApi.ts"
import { pace } from "./Pace.ts"
import { Tally } from "./Tally.ts"

export interface RunOptions {
  readonly service: Service
  /** The time in the plan that is now, in milliseconds since the epoch. */
  readonly beginning: number
  /** How many times faster than the plan; null for as fast as the service takes them. */
  readonly speed: number | null
  /** Requests open at once. With more than one, batches may overtake each other. */
  readonly maxInFlight: number
}

/** The run could not go on. */
export class RunStopped extends Schema.TaggedError<RunStopped>()("RunStopped", { message: Schema.String }) {}

/** When a failed request is made again while nothing was ever accepted: the service may just be starting. */
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
const publishPersistently = Effect.fnUntraced(function* (
  service: Service,
  events: ReadonlyArray<PlannedEvent>,
  key: string,
  tally: Tally
) {
  for (let attempt = 1; ; attempt++) {
    const answer = yield* publish(service, events, key)
    if (answer._tag !== "Unavailable") return answer
    const now = yield* Clock.currentTimeMillis
    const decision = RetryPolicy.next(tally.summary.accepted === 0 ? firstContact : establishedContact, {
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

/** Answers after which nothing later can go better: a wrong key, or no doorhook there. */
const stopping = (answer: Answer, service: Service): RunStopped | null => {
  if (answer._tag !== "Refused") return null
  if (answer.status === 401 || answer.status === 403) {
    return new RunStopped({ message: `${service.url} refused the operator key (${answer.status}).` })
  }
  if (answer.status === 404) {
    return new RunStopped({
      message: `${service.url} has no /operator/events: is it the base URL of a doorhook service?`
    })
  }
  return null
}

/**
 * Publishes every event when its time has come, in batches of what is due.
 *
 * Open loop: an event is due at the beginning of the run plus its time in the plan divided by the speed, however long
 * the service takes. What starts late is counted as late, and sent all the same. Requests that fail are made again, with
 * the same idempotency key; what the service still does not take counts as failed, and the run goes on, unless the
 * service was never reached at all. The tally can be read while the run goes on.
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

  const send = Effect.fnUntraced(function* (batch: ReadonlyArray<Scheduled>) {
    const now = yield* Clock.currentTimeMillis
    for (const { due } of batch) if (due !== null) tally.late(now - due)
    tally.due(batch.length)
    const answer = yield* publishPersistently(
      service,
      batch.map(({ event }) => event),
      `simulate-${runId}-${batches++}`,
      tally
    )
    if (answer._tag === "Accepted") return tally.accepted(batch.length, answer.deliveries)
    tally.failed(batch.length, answer.why)
    const stopped = stopping(answer, service)
    if (stopped !== null) return yield* stopped
    if (answer._tag === "Unavailable" && tally.summary.accepted === 0) {
      return yield* new RunStopped({
        message: `${service.url} could not be reached (${answer.why}). Is the service running?`
      })
    }
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
