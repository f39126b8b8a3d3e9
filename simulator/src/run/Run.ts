/**
 * Plays a plan against whatever takes events in.
 */
import { maxEventsPerPublish, RetryPolicy } from "@doorhook/core"
import { Array, Clock, Effect, Random, Schema, Stream } from "effect"
import type { Sending } from "../plan/Disorder.ts"
import { Measurements } from "../results/Measurements.ts"
import type { AcceptedEvent, Answer } from "./OperatorApi.ts"
import { pace } from "./Pace.ts"
import type { Target } from "./Target.ts"

export interface RunOptions<R> {
  readonly target: Target<R>
  /** The time in the plan at which the run begins, in milliseconds since the epoch. */
  readonly beginning: number
  /** How many times faster than the plan; null for as fast as the service takes them. */
  readonly speed: number | null
  /** Requests open at once. With more than one, batches may overtake each other. */
  readonly maxInFlight: number
  /** Who else is told what happens, besides what is measured. */
  readonly observer?: RunObserver
}

/** Whoever follows a run. All times are of the clock, in milliseconds since the epoch. */
export interface RunObserver {
  /** The first event is about to be due. */
  readonly began: (now: number) => void
  /** Its sending begins; it was due at a time, or as soon as possible. */
  readonly started: (sending: Sending, due: number | null, now: number) => void
  /** Events were accepted. */
  readonly accepted: (events: ReadonlyArray<AcceptedEvent>) => void
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
  readonly sending: Sending
  readonly due: number | null
}

/** Makes a request until it is answered for good, or its retries are used up. */
const persistently = Effect.fnUntraced(function* <R>(
  request: Effect.Effect<Answer, never, R>,
  policy: RetryPolicy.RetryPolicy,
  measurements: Measurements
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
    measurements.retries++
    yield* Effect.sleep(decision.at - now)
  }
})

/** Why the run can't go on after an answer: its key was refused. Null when it was not. */
const keyRefused = <R>({ keyFrom, name }: Target<R>, answer: Answer): RunStopped | null => {
  if (answer._tag !== "Refused" || (answer.status !== 401 && answer.status !== 403)) return null
  const which = keyFrom === undefined ? "the operator key" : `the operator key of ${keyFrom}`
  return new RunStopped({
    message: `${name} refused ${which}. Give the key of that service. It answered with ${answer.why}`
  })
}

const notThere = (name: string): RunStopped =>
  new RunStopped({ message: `${name} has no /operator/events: is it the base URL of a doorhook service?` })

const notReached = (name: string, why: string): RunStopped =>
  new RunStopped({ message: `${name} could not be reached (${why}). Is the service running?` })

/**
 * Publishes every event when its time has come, in batches of what is due.
 *
 * Open loop: an event is due at the beginning of the run plus its time in the plan divided by the speed, however long
 * the target takes. What starts late is counted as late, and sent all the same. Requests that fail are made again, with
 * the same idempotency key; what the target still does not take counts as failed, and the run goes on. It stops when
 * the target is not there at its beginning, or refuses the key. What is measured can be read while it goes on.
 */
export const run = Effect.fnUntraced(function* <E, R, R2>(
  sendings: Stream.Stream<Sending, E, R>,
  options: RunOptions<R2>,
  measurements: Measurements = new Measurements()
): Effect.fn.Return<void, E | RunStopped, R | R2> {
  const { target, beginning, observer, speed, maxInFlight } = options
  const runId = `${yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)}`
  let batches = 0
  let began: number | null = null

  const greeting = yield* persistently(target.greet, firstContact, measurements)
  const unwelcome = keyRefused(target, greeting)
  if (unwelcome !== null) return yield* unwelcome
  if (greeting._tag === "Refused") return yield* notThere(target.name)
  if (greeting._tag === "Unavailable") return yield* notReached(target.name, greeting.why)

  const send = Effect.fnUntraced(function* (batch: ReadonlyArray<Scheduled>) {
    const startedAt = yield* Clock.currentTimeMillis
    for (const { due, sending } of batch) {
      measurements.start(sending.kind, due === null ? null : startedAt - due)
      observer?.started(sending, due, startedAt)
    }
    const events = batch.map(({ sending }) => sending.event)
    const request = target.publish(events, `simulate-${runId}-${batches++}`)
    const answer = yield* persistently(request, establishedContact, measurements)
    if (answer._tag === "Accepted") {
      const now = yield* Clock.currentTimeMillis
      for (const { due } of batch) measurements.accept(due === null ? null : now - due, now - startedAt)
      measurements.promised += answer.deliveries
      return observer?.accepted(answer.events)
    }
    measurements.refused += batch.length
    measurements.lastFailure = answer.why
    const refused = keyRefused(target, answer)
    if (refused !== null) return yield* refused
    if (answer._tag === "Refused" && answer.status === 404) return yield* notThere(target.name)
  })

  const schedule = Effect.fnUntraced(function* (chunk: Array.NonEmptyReadonlyArray<Sending>) {
    // The clock starts when the plan is ready, so that what it takes to get there is not counted as late.
    if (began === null) {
      began = yield* Clock.currentTimeMillis
      observer?.began(began)
    }
    const start = began
    return Array.map(chunk, (sending): Scheduled => {
      return { sending, due: speed === null ? null : start + Math.ceil((sending.at - beginning) / speed) }
    })
  })

  const scheduled = sendings.pipe(Stream.mapArrayEffect(schedule), Stream.rechunk(maxEventsPerPublish))
  yield* (speed === null ? scheduled : pace<Scheduled>(({ due }) => due ?? 0)(scheduled)).pipe(
    Stream.chunks,
    Stream.mapEffect(send, { concurrency: maxInFlight }),
    Stream.runDrain
  )
})
