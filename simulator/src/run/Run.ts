/**
 * Publishes a load to a target.
 *
 * Open loop: each request is sent at its time, however many answers are missing. Latency is measured from the planned
 * time, so a stall of the target shows in the latency of every event planned during the stall (no coordinated
 * omission).
 */
import { RetryPolicy } from "@doorhook/core"
import { Clock, Effect, FiberSet, Random, Schema, Semaphore, Stream } from "effect"
import { Measurements } from "../results/Measurements.ts"
import type { Arrival } from "./Load.ts"
import { storedSince } from "./Load.ts"
import type { AcceptedEvent, Answer, Target } from "./OperatorApi.ts"

/** The clock of a run, which converts real time to time in the plan. */
export class RunClock {
  /**
   * Real time of the start, just before the first event is due, in milliseconds since the epoch; null before the start.
   */
  began: number | null = null
  /** Time in the plan at which the run begins, in milliseconds since the epoch. */
  readonly beginning: number
  /** Speed relative to the plan; null to publish as fast as the target accepts. */
  readonly speed: number | null

  constructor(beginning: number, speed: number | null) {
    this.beginning = beginning
    this.speed = speed
  }

  /** Returns the position of an instant on the report's axis, in milliseconds since the beginning. */
  readonly timeOf = (instant: number): number => Math.max(0, (instant - (this.began ?? instant)) * (this.speed ?? 1))
}

export interface RunOptions {
  readonly target: Target
  readonly clock: RunClock
  /** Maximum number of open requests. Further requests wait and are counted. */
  readonly maxInFlight: number
  /** Maximum number of events in a request. */
  readonly batch: number
  /** Called with the events of each answer. */
  readonly accepted?: (events: ReadonlyArray<AcceptedEvent>) => void
}

/** The run had to stop. */
export class RunStopped extends Schema.TaggedError<RunStopped>()("RunStopped", { message: Schema.String }) {}

/** Retries of the first request, because the service may still be starting. */
const firstContact: RetryPolicy.RetryPolicy = { delays: [200, 500, 1_000, 2_000], lifetime: null }

/** Retries of later requests, because the service may be restarted during a run. */
const establishedContact: RetryPolicy.RetryPolicy = {
  delays: [...firstContact.delays, 5_000, 10_000, 20_000, 20_000],
  lifetime: null
}

/** Maximum time between the first and the last event of a batch, in milliseconds. */
const linger = 1_000

/** An event, its due time in real time, and its position on the report's axis. */
interface Scheduled {
  readonly arrival: Arrival
  readonly due: number
  readonly planned: number
}

/** Returns the time at which a batch is sent: the due time of its last event. */
const dueOf = (batch: ReadonlyArray<Scheduled>): number => batch.at(-1)?.due ?? 0

/** Makes a request, and repeats it until there is a final answer or no retry is left. */
const persistently = (
  request: Effect.Effect<Answer>,
  policy: RetryPolicy.RetryPolicy,
  again: (now: number) => void
): Effect.Effect<Answer> =>
  Effect.flatMap(request, (answer) =>
    answer._tag === "Unavailable" ? repeated(request, answer, policy, again) : Effect.succeed(answer)
  )

const repeated = Effect.fnUntraced(function* (
  request: Effect.Effect<Answer>,
  first: Answer,
  policy: RetryPolicy.RetryPolicy,
  again: (now: number) => void
) {
  let answer = first
  for (let attempt = 1; ; attempt++) {
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
    again(now)
    yield* Effect.sleep(decision.at - now)
    answer = yield* request
  }
})

/** Returns the error that ends the run if an answer refused the key; null otherwise. */
const keyRefused = ({ keyFrom, name }: Target, answer: Answer): RunStopped | null => {
  if (answer._tag !== "Refused" || (answer.status !== 401 && answer.status !== 403)) return null
  const which = keyFrom === undefined ? "the operator key" : `the operator key of ${keyFrom}`
  return new RunStopped({
    message: `${name} refused ${which}. Use the key of that service. It answered with ${answer.why}`
  })
}

const notThere = (name: string): RunStopped =>
  new RunStopped({ message: `${name} has no /operator/events: is it the base URL of a doorhook service?` })

/**
 * Collects events into batches of up to `size` events within a second. Only the planned times matter, so the batches
 * don't depend on the target.
 */
const batched =
  (size: number) =>
  (all: ReadonlyArray<Scheduled>): ReadonlyArray<ReadonlyArray<Scheduled>> => {
    const batches: Array<Array<Scheduled>> = []
    for (const one of all) {
      const last = batches.at(-1)
      const isFull = last === undefined || last.length >= size || one.due > (last[0]?.due ?? 0) + linger
      if (isFull) batches.push([one])
      else last.push(one)
    }
    return batches
  }

/** Sleeps until a time, and again if the timer fires slightly early. */
const sleepUntil = Effect.fnUntraced(function* (time: number) {
  for (let now = yield* Clock.currentTimeMillis; now < time; now = yield* Clock.currentTimeMillis)
    yield* Effect.sleep(time - now)
})

/**
 * Publishes every event at its time. Failed requests are retried with the same idempotency key. Events that the target
 * still doesn't accept count as failed, and the run continues. The run stops if the target can't be reached at the
 * beginning or refuses the key. Measurements can be read during the run.
 */
export const run = Effect.fnUntraced(function* <E, R>(
  load: Stream.Stream<Arrival, E, R>,
  { accepted, batch: size, clock, maxInFlight, target }: RunOptions,
  measurements: Measurements = new Measurements()
): Effect.fn.Return<void, E | RunStopped, R> {
  const { beginning, speed, timeOf } = clock
  const runId = `${yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)}`
  const wall = yield* Clock.Clock
  let requests = 0
  let open = 0

  const greeting = yield* persistently(target.greet, firstContact, () => measurements.republish(0))
  const unwelcome = keyRefused(target, greeting)
  if (unwelcome !== null) return yield* unwelcome
  if (greeting._tag === "Refused") return yield* notThere(target.name)
  if (greeting._tag === "Unavailable")
    return yield* new RunStopped({
      message: `${target.name} could not be reached (${greeting.why}). Is the service running?`
    })

  const plan = (batch: ReadonlyArray<Scheduled>) => {
    for (const { arrival, planned } of batch) {
      const since = speed === null ? null : storedSince(arrival)
      measurements.plan(planned, since === null ? null : since - beginning)
    }
  }

  // Runs for each request, so it is made of few effects.
  const send = (batch: ReadonlyArray<Scheduled>): Effect.Effect<void, RunStopped> => {
    const startedAt = wall.currentTimeMillisUnsafe()
    const late = speed === null ? null : startedAt - dueOf(batch)
    for (const { arrival, planned } of batch)
      measurements.start(planned, timeOf(startedAt), late, arrival.event.resource_type)
    const request = target.publish(
      batch.map(({ arrival }) => arrival.event),
      `simulate-${runId}-${requests++}`
    )
    const again = (now: number) => measurements.republish(timeOf(now))
    return Effect.flatMap(
      persistently(request, establishedContact, again),
      (answer): Effect.Effect<void, RunStopped> => {
        const now = wall.currentTimeMillisUnsafe()
        if (answer._tag === "Accepted") {
          for (const { arrival, due, planned } of batch)
            measurements.accept(
              speed === null ? null : now - due,
              now - startedAt,
              planned,
              arrival.event.resource_type
            )
          accepted?.(answer.events)
          return Effect.void
        }
        measurements.fail(timeOf(now), batch.length, answer.why)
        const refused = keyRefused(target, answer)
        if (refused !== null) return Effect.fail(refused)
        return answer._tag === "Refused" && answer.status === 404 ? Effect.fail(notThere(target.name)) : Effect.void
      }
    )
  }

  const schedule = (chunk: ReadonlyArray<Arrival>): ReadonlyArray<Scheduled> => {
    const now = wall.currentTimeMillisUnsafe()
    // The clock starts when the load is ready, so that preparation doesn't count as delay.
    const start = (clock.began ??= now)
    return chunk.map((arrival): Scheduled => {
      if (speed === null) return { arrival, planned: timeOf(now), due: now }
      const planned = arrival.at - beginning
      return { arrival, planned, due: start + Math.ceil(planned / speed) }
    })
  }

  if (speed === null)
    return yield* load.pipe(
      Stream.rechunk(size),
      Stream.chunks,
      Stream.mapEffect(
        (chunk) =>
          Effect.suspend(() => {
            const batch = schedule(chunk)
            plan(batch)
            return send(batch)
          }),
        { concurrency: maxInFlight }
      ),
      Stream.runDrain
    )

  const places = yield* Semaphore.make(maxInFlight)
  const inPlace = (batch: ReadonlyArray<Scheduled>) =>
    Effect.suspend(() => {
      plan(batch)
      if (open++ >= maxInFlight) measurements.totals.held++
      return places.withPermit(Effect.suspend(() => send(batch))).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            open--
          })
        )
      )
    })
  yield* Effect.scoped(
    Effect.gen(function* () {
      const sending = yield* FiberSet.make<void, RunStopped>()
      const paced = load.pipe(
        Stream.chunks,
        Stream.runForEach((chunk) =>
          Effect.suspend(() =>
            Effect.forEach(
              batched(size)(schedule(chunk)),
              (batch) =>
                dueOf(batch) <= wall.currentTimeMillisUnsafe()
                  ? FiberSet.run(sending, inPlace(batch))
                  : Effect.andThen(sleepUntil(dueOf(batch)), FiberSet.run(sending, inPlace(batch))),
              { discard: true }
            )
          )
        )
      )
      yield* Effect.raceFirst(Effect.andThen(paced, FiberSet.awaitEmpty(sending)), FiberSet.join(sending))
    })
  )
})
