/**
 * Accepts events: matches them with integrations, stores them, and hands their deliveries over to the dispatcher. An
 * event is accepted once the event and its deliveries are durable.
 *
 * Calls that arrive during a transaction share the next one and its disk sync (group commit). If many calls arrive one
 * by one, a transaction waits briefly for more (`Linger`). A call with an urgent event joins the next transaction ahead
 * of all ordinary calls. Each call is answered when its own events are durable.
 */
import { Cause, Context, Effect, Fiber, Latch, Layer, Option, Scheduler, Schema } from "effect"
import type { Scope } from "effect"
import * as DurationText from "../model/DurationText.ts"
import type { LeasedDelivery } from "../model/Delivery.ts"
import { laneOf } from "../model/Delivery.ts"
import type { Event, NewEvent } from "../model/Event.ts"
import { makeEventIds } from "./EventIds.ts"
import type { Integration } from "../model/Integration.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import type { ResourceTypeDefinition, ResourceTypeTable } from "../model/ResourceType.ts"
import { publishableText, ResourceTypes } from "../model/ResourceType.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { Enqueued, NewDelivery, NewEventRecord, StaleMatch } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { UnreadableIntegration } from "../ports/IntegrationStore.ts"
import { IntegrationStore, isUnreadable } from "../ports/IntegrationStore.ts"
import { storeClock } from "../ports/StoreClock.ts"
import { StoreError } from "../ports/StoreError.ts"
import type { Handover } from "../delivery/Dispatcher.ts"
import { Dispatcher } from "../delivery/Dispatcher.ts"
import { makeMatcher } from "./Matcher.ts"
import { countAccepted } from "../delivery/DeliveryMetrics.ts"
import { DeliverySettings } from "../delivery/DeliverySettings.ts"
import type { IdempotentRequest } from "./Idempotency.ts"
import { KeyReused } from "./Idempotency.ts"
import { decodeAnswer, makeRecord, partitionByKey } from "./IdempotencyRecords.ts"
import type { Published } from "./IdempotencyRecords.ts"
import { Linger } from "./Linger.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"

/** Too many events wait to be stored, and no event of this call was stored. The message names the limit. */
export class PublisherBusy extends Schema.TaggedError<PublisherBusy>()("PublisherBusy", { message: Schema.String }) {}

/** The publisher is closed. */
export class PublisherClosed extends Schema.TaggedError<PublisherClosed>()("PublisherClosed", {}) {
  get said(): Sentence {
    return say("error_publisher_closed")
  }

  override get message(): string {
    return english(this.said)
  }
}

export class Publisher extends Context.Service<
  Publisher,
  {
    /**
     * Accepts all of the events or none. Returns results in the given order. With an idempotency key, a request
     * repeated within 24 hours gets the first answer and publishes nothing. Calls made before the publisher's scope
     * closes are still carried out; later calls fail with `PublisherClosed`. While `waitingBytes` of event data wait to
     * be stored, a call waits for up to 5 s and then fails with `PublisherBusy`.
     */
    readonly publish: (
      events: ReadonlyArray<NewEvent>,
      request?: IdempotentRequest | null
    ) => Effect.Effect<ReadonlyArray<Published>, StoreError | KeyReused | PublisherBusy | PublisherClosed>
  }
>()("@doorhook/core/publish/Publisher") {
  static readonly layer: Layer.Layer<
    Publisher,
    never,
    DeliveryStore | IntegrationStore | IdempotencyStore | DeliverySettings | Dispatcher | Crypto
  > = Layer.effect(
    Publisher,
    Effect.suspend(() => makePublisher)
  )
}

/**
 * A transaction takes no more calls once it has this many events. A larger transaction would delay the calls behind it.
 */
const maxBatch = 250

/** A transaction with at least this many events does not linger. */
const enough = 32

/** Memory used by a waiting event in addition to its data, in bytes. */
const overhead = 256

/** Pause before a call is repeated whose idempotency key another process uses now, in milliseconds. */
const busyKeyPause = 100

/** Maximum time that a call waits for room in `waitingBytes`, in milliseconds. */
const patience = 5_000

type Answer = Effect.Effect<ReadonlyArray<Published>, StoreError | KeyReused | PublisherClosed | PublisherBusy>

interface Call {
  readonly events: ReadonlyArray<NewEvent>
  readonly request: IdempotentRequest | null
  /** Memory that the call uses while it waits, counted against `waitingBytes`, in bytes. */
  readonly size: number
  readonly answer: (answer: Answer) => void
}

/** A call that waits for room in `waitingBytes`. */
interface Blocked {
  readonly size: number
  readonly admit: () => void
}

/** A call whose events have been stored, with its answer. */
interface CarriedOut {
  readonly call: Call
  readonly answer: ReadonlyArray<Published>
}

/** An event with its matching integrations. */
interface Matched {
  readonly event: Event
  readonly integrations: ReadonlyArray<Integration | UnreadableIntegration>
}

/**
 * Returns the definition of an event's type. Throws `InvalidInput` for an undeclared type, in case no reader checked
 * the event.
 */
const publishable = (types: ResourceTypeTable, { resource_type }: NewEvent): ResourceTypeDefinition => {
  const definition = types.get(resource_type)
  if (definition !== undefined) return definition
  const detail = `must be ${publishableText(types)}; ${JSON.stringify(resource_type)} is not declared`
  throw new InvalidInput({ title: "Invalid event", problems: [{ pointer: "/resource_type", detail }] })
}

// Does not stop at the first urgent event, so that an undeclared type in any event is detected.
const isUrgent = (types: ResourceTypeTable, events: ReadonlyArray<NewEvent>): boolean =>
  events.reduce((isAny, event) => publishable(types, event).urgent || isAny, false)

const distinct = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => (items.length < 2 ? items : [...new Set(items)])

const sizeOf = (events: ReadonlyArray<NewEvent>): number =>
  events.reduce((size, { data }) => size + data.length + overhead, 0)

const countEvents = (calls: ReadonlyArray<Call>): number => calls.reduce((sum, { events }) => sum + events.length, 0)

/** Whether a change that failed with this cause might have been carried out, at least in part. */
const mayBeStored = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterrupts(cause)) return true
  return storeErrorOf(cause)?.outcome !== undefined
}

/** Returns the store's error in a cause; null if the store has not failed. */
const storeErrorOf = (cause: Cause.Cause<unknown>): StoreError | null => {
  const error = Cause.squash(cause)
  return error instanceof StoreError ? error : null
}

/**
 * Makes a publisher that accepts events until the scope closes. It still carries out calls that it has received by
 * then.
 */
const makePublisher: Effect.Effect<
  Publisher["Service"],
  never,
  Scope.Scope | DeliveryStore | IntegrationStore | IdempotencyStore | DeliverySettings | Dispatcher | Crypto
> = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const integrations = yield* IntegrationStore
  const keys = yield* IdempotencyStore
  const dispatcher = yield* Dispatcher
  const crypto = yield* Crypto
  const { waitingBytes } = yield* DeliverySettings
  const types = yield* ResourceTypes
  const clock = yield* storeClock
  const context = yield* Effect.context<never>()
  const run = Effect.runForkWith(context)
  const { now } = clock

  // Waiting calls.

  const urgent: Array<Call> = []
  const ordinary: Array<Call> = []
  const blocked = new Set<Blocked>()
  const linger = new Linger()
  const turns = (yield* Scheduler.Scheduler).makeDispatcher()
  /** Opens one turn of the event loop after the first call, so that calls made in the same turn share a transaction. */
  const arrival = yield* Latch.make(false)
  let isArriving = false
  /** Whether the committer waits for a call. */
  let isWaiting = false
  /** Opens to end a linger early: for an urgent call, for a call with many events, or when the publisher closes. */
  const flushNow = yield* Latch.make(false)
  let waitingSize = 0
  let arrived = 0
  let isClosed = false

  const submit = (call: Call, isUrgentCall: boolean): void => {
    waitingSize += call.size
    if (isUrgentCall) urgent.push(call)
    else {
      ordinary.push(call)
      arrived++
    }
    if (isUrgentCall || call.events.length >= enough) flushNow.openUnsafe()
    if (isArriving || !isWaiting) return
    isArriving = true
    turns.scheduleTask(arrive, 0)
  }

  const arrive = (): void => {
    isArriving = false
    arrival.openUnsafe()
  }

  const fits = (size: number): boolean => waitingSize === 0 || waitingSize + size <= waitingBytes

  /** Frees the memory counted for a batch and admits blocked calls. */
  const free = (batch: ReadonlyArray<Call>): void => {
    for (const { size } of batch) waitingSize -= size
    for (const waiter of blocked) {
      if (!fits(waiter.size)) return
      blocked.delete(waiter)
      waiter.admit()
    }
  }

  const busy = Effect.suspend(() => {
    const limit = `${waitingBytes} bytes of events wait to be stored (setting waitingBytes)`
    const message = `${limit}, and there was no room within ${DurationText.format(patience)}. None of these events was stored: publish them again later.`
    return Effect.fail(new PublisherBusy({ message }))
  })

  /** Submits a call and waits for its answer. An ordinary call first waits for room. */
  const call = (events: ReadonlyArray<NewEvent>, request: IdempotentRequest | null): Answer => {
    const size = sizeOf(events)
    // Checked before submitting, because an undeclared type is a defect of this caller and must not fail other calls.
    const isUrgentCall = isUrgent(types, events)
    return Effect.callback((answer) => {
      if (isClosed) return answer(Effect.fail(new PublisherClosed()))
      const submitCall = (): void => submit({ events, request, size, answer }, isUrgentCall)
      if (isUrgentCall || (blocked.size === 0 && fits(size))) return submitCall()
      // Once there is room, calls are submitted in order of arrival. A call that is interrupted before it is submitted
      // publishes nothing.
      const leave = Effect.sync(() => blocked.delete(waiter))
      const expiry = run(
        Effect.delay(
          Effect.tap(leave, (left) => (left ? Effect.sync(() => answer(busy)) : Effect.void)),
          patience
        )
      )
      const waiter: Blocked = {
        size,
        admit: () => {
          expiry.interruptUnsafe()
          submitCall()
        }
      }
      blocked.add(waiter)
      return Effect.andThen(leave, Fiber.interrupt(expiry))
    })
  }

  // Batches: the calls that share a transaction.

  /** Reports new ordinary calls to `Linger`. Returns whether there were any. */
  const noteArrivals = (): boolean => {
    flushNow.closeUnsafe()
    if (arrived === 0) return false
    linger.arrived(arrived, now())
    arrived = 0
    return true
  }

  const mustNotLinger = (): boolean => isClosed || urgent.length > 0 || countEvents(ordinary) >= enough

  /** Waits for more calls. Returns whether any arrived, or null if the transaction must not wait longer. */
  const lingerFor = Effect.fnUntraced(function* (time: number) {
    const isFlushed = Option.isSome(yield* Effect.timeoutOption(flushNow.await, time))
    const came = noteArrivals()
    return isFlushed || mustNotLinger() ? null : came
  })

  const lingered = Effect.fnUntraced(function* (wait: number) {
    if ((yield* lingerFor(wait / 2)) === null) return
    const cameLate = yield* lingerFor(wait / 2)
    if (cameLate !== null) linger.waited(cameLate, now())
  })

  const awaitCalls: Effect.Effect<void, Cause.Done> = Effect.suspend(() => {
    isWaiting = urgent.length + ordinary.length === 0
    if (isWaiting) {
      if (isClosed) return Cause.done()
      arrival.closeUnsafe()
      return Effect.flatMap(arrival.await, () => awaitCalls)
    }
    noteArrivals()
    const wait = linger.wait(now())
    return wait === 0 || mustNotLinger() ? Effect.void : lingered(wait)
  })

  /**
   * Takes the next batch. Calls left over from the last batch are taken immediately; otherwise, `Linger` might wait for
   * more calls first.
   */
  const takeBatch = Effect.map(
    Effect.suspend(() => {
      if (urgent.length === 0 && ordinary.length <= arrived) return awaitCalls
      noteArrivals()
      return Effect.void
    }),
    () => {
      const first = urgent.length > 0 ? urgent : ordinary
      let count = 0
      for (let size = 0; count < first.length && size < maxBatch; count++) size += first[count]?.events.length ?? 0
      return first.splice(0, count)
    }
  )

  // Steps of a batch: match, store, hand over, answer.

  /**
   * Returns the integrations that these events might match. If `cached`, the integrations are read from memory, and
   * their versions are checked when the events are stored.
   */
  const candidatesOf = (events: ReadonlyArray<NewEvent>, cached: boolean) =>
    integrations.findByScopes({
      buildings: distinct(events.map((event) => event.building_id)),
      tenants: distinct(events.flatMap((event) => event.tenant_ids)),
      cached
    })

  const matchAll = (
    events: ReadonlyArray<NewEvent>,
    candidates: ReadonlyArray<Integration | UnreadableIntegration>
  ): ReadonlyArray<Matched> => {
    const created_at = now()
    const ids = makeEventIds(crypto, created_at, events.length)
    const match = makeMatcher(candidates)
    const matched: Array<Matched> = []
    events.forEach(({ action, building_id, data, resource_type, tenant_ids }, index) => {
      const id = ids[index]
      if (id === undefined) return
      const event = { id, resource_type, action, building_id, tenant_ids, data, created_at }
      matched.push({ event, integrations: match(event) })
    })
    return matched
  }

  /** Groups the matched events by call. */
  const shareOut = (calls: ReadonlyArray<Call>, matched: ReadonlyArray<Matched>): ReadonlyArray<CarriedOut> => {
    let at = 0
    return calls.map((each) => {
      const from = at
      at += each.events.length
      return {
        call: each,
        answer: matched
          .slice(from, at)
          .map(({ event, integrations: targets }) => ({ id: event.id, deliveries: targets.length }))
      }
    })
  }

  /** Returns the initial state of a delivery: leased to this process if there is room in memory. */
  const initialOf = (
    event: Event,
    integration: Integration | UnreadableIntegration,
    lane: NewDelivery["lane"],
    handover: Handover
  ): NewDelivery["initial"] => {
    if (isUnreadable(integration)) return { state: "pending" }
    if (integration.status === "disabled") return { state: "skipped", reason: "integration_disabled" }
    return handover.keep(integration, lane, event.data.length)
      ? { state: "delivering", worker: handover.worker }
      : { state: "pending" }
  }

  const recordOf = ({ event, integrations: matched }: Matched, handover: Handover): NewEventRecord => {
    const lane = laneOf(publishable(types, event), 0)
    return {
      event,
      deliveries: matched.map((integration) => ({
        integration_id: integration.id,
        lane,
        matched_version: integration.version,
        initial: initialOf(event, integration, lane, handover)
      }))
    }
  }

  /** Returns the stored deliveries that are leased to this process. */
  const leasedOf = (
    matched: ReadonlyArray<Matched>,
    records: ReadonlyArray<NewEventRecord>,
    stored: ReadonlyArray<ReadonlyArray<Enqueued>>
  ): ReadonlyArray<LeasedDelivery> => {
    const leased: Array<LeasedDelivery> = []
    matched.forEach(({ event, integrations: targets }, at) =>
      targets.forEach((integration, place) => {
        const delivery = stored[at]?.[place]
        const lane = records[at]?.deliveries[place]?.lane
        if (delivery?.state !== "delivering" || lane === undefined || isUnreadable(integration)) return
        const { id } = delivery
        leased.push({ id, lane, attempts: 0, early: 0, early_due_at: null, resend: false, event, integration })
      })
    )
    return leased
  }

  const carryOutWith = (
    calls: ReadonlyArray<Call>,
    cached: boolean
  ): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict | StaleMatch> => {
    const events = calls.flatMap((each) => each.events)
    // The handover begins before the integrations are read, so that it detects later changes to them.
    const handover = dispatcher.handOver()
    return candidatesOf(events, cached).pipe(
      Effect.flatMap((candidates) => {
        const matched = matchAll(events, candidates)
        const carriedOut = shareOut(calls, matched)
        const remembered = carriedOut.flatMap(({ answer, call: { request } }) =>
          request === null ? [] : [makeRecord(request, answer, now())]
        )
        const records = matched.map((each) => recordOf(each, handover))
        return Effect.map(store.enqueue(records, remembered, candidates), (stored) => {
          const hasDue = stored.some((deliveries) => deliveries.some(({ state }) => state === "pending"))
          handover.stored(leasedOf(matched, records, stored), hasDue)
          countAccepted(events, context)
          return carriedOut
        })
      }),
      Effect.tapCause((cause) =>
        Effect.sync(() => handover.failed(mayBeStored(cause) ? "unknown" : "not_stored", storeErrorOf(cause)))
      )
    )
  }

  const carryOutFresh = (
    calls: ReadonlyArray<Call>
  ): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict> =>
    Effect.catchTag(carryOutWith(calls, false), "StaleMatch", () => carryOutFresh(calls))

  /** Stores the events of calls, and answers the calls. */
  const carryOut = (
    calls: ReadonlyArray<Call>
  ): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict> =>
    calls.length === 0
      ? Effect.succeed([])
      : Effect.map(
          Effect.catchTag(carryOutWith(calls, true), "StaleMatch", () => carryOutFresh(calls)),
          (carriedOut) => {
            for (const { answer, call: carried } of carriedOut) carried.answer(Effect.succeed(answer))
            return carriedOut
          }
        )

  /** Carries out a batch in which some calls have idempotency keys. */
  const carryOutKeyed = (
    batch: ReadonlyArray<Call>,
    remembered: ReadonlyArray<IdempotencyRecord>
  ): Effect.Effect<void, StoreError | IdempotencyConflict> => {
    const { fresh, refused, repeated, replayed } = partitionByKey(batch, remembered)
    return Effect.map(carryOut(fresh), (carriedOut) => {
      const answers = new Map(carriedOut.map((each) => [each.call, each.answer]))
      for (const { call: again, of } of repeated) again.answer(Effect.succeed(answers.get(of) ?? []))
      for (const { as, call: again } of replayed) again.answer(decodeAnswer(as))
      for (const { answer } of refused) answer(Effect.fail(new KeyReused()))
    })
  }

  /** Commits a batch. If the time is uncertain, the store's clock is measured first, because events get their times. */
  const commit = (batch: ReadonlyArray<Call>): Effect.Effect<void, StoreError | IdempotencyConflict> =>
    clock.isCertain() ? commitNow(batch) : Effect.flatMap(clock.measure, () => commitNow(batch))

  const commitNow = (batch: ReadonlyArray<Call>): Effect.Effect<void, StoreError | IdempotencyConflict> => {
    const requested = batch.flatMap(({ request }) => (request === null ? [] : [request.key]))
    return requested.length === 0
      ? Effect.asVoid(carryOut(batch))
      : Effect.flatMap(keys.find(requested, now()), (remembered) => carryOutKeyed(batch, remembered))
  }

  /** Repetitions of calls whose keys another process was using. */
  const repeating = new Set<Fiber.Fiber<void>>()

  /** Repeats a call soon. Until it is answered, its events count as waiting. */
  const repeatSoon = (call: Call): void => {
    waitingSize += call.size
    const again = Effect.andThen(
      answerAll([call]),
      Effect.sync(() => free([call]))
    )
    const fiber = run(Effect.delay(again, busyKeyPause))
    repeating.add(fiber)
    fiber.addObserver(() => repeating.delete(fiber))
  }

  /**
   * Commits a batch and answers all of its calls. If another process has just used one of the keys, tries again, now with
   * that key's record. Calls whose keys other processes use now are answered later, and don't delay the others.
   */
  const answerAll = (batch: ReadonlyArray<Call>): Effect.Effect<void> =>
    Effect.suspend(() => commit(batch)).pipe(
      Effect.catchTag("IdempotencyConflict", ({ busy = [] }) => {
        const isBusy = ({ request }: Call): boolean => request !== null && busy.includes(request.key)
        batch.filter(isBusy).forEach(repeatSoon)
        return answerAll(batch.filter((each) => !isBusy(each)))
      }),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          for (const { answer } of batch) answer(Effect.failCause(cause))
        })
      )
    )

  const repeatedAll: Effect.Effect<void> = Effect.suspend(() =>
    repeating.size === 0 ? Effect.void : Effect.andThen(Fiber.awaitAll(repeating), repeatedAll)
  )

  const committer = Effect.forever(
    Effect.flatMap(takeBatch, (batch) =>
      Effect.uninterruptible(
        Effect.andThen(
          answerAll(batch),
          Effect.sync(() => free(batch))
        )
      )
    )
  )

  const committing = yield* Effect.forkScoped(committer)
  // Carries out the calls that have been received, then stops.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isClosed = true
      for (const { admit } of blocked) admit()
      blocked.clear()
      arrival.openUnsafe()
      flushNow.openUnsafe()
      return Effect.andThen(Fiber.await(committing), repeatedAll)
    })
  )

  return Publisher.of({
    publish: (events, request = null) =>
      // A call without events but with a key is recorded, so that a different request can't use the key.
      Effect.suspend(() => (events.length === 0 && request === null ? Effect.succeed([]) : call(events, request)))
  })
})
