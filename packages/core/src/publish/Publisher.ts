/**
 * Accepts events: match, store, hand over. An event is accepted once it and its deliveries are durable, and not before.
 *
 * Calls that arrive while a transaction is under way share the next one, so that one sync to disk serves them all (group
 * commit); where many come one by one, it lingers a moment for more (`Linger`). A call with an urgent event is in the first
 * transaction that starts after it, however many ordinary calls wait. Each call is answered when its own events are durable.
 */
import { Cause, Clock, Context, Effect, Fiber, Latch, Layer, Option, Predicate, Scheduler, Schema } from "effect"
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
import type { UnreadableMatch } from "../ports/IntegrationStore.ts"
import { IntegrationStore, isUnreadable } from "../ports/IntegrationStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
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

/** Too many events wait to be stored, and none of these was. The message says which limit it is. */
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
     * Accepts all of the events or none. Answers in the order given. With an idempotency key, the same request again is
     * answered as the first one was and publishes nothing, for 24 hours. Calls that are in when the publisher's scope closes
     * are still carried out; later ones fail with `PublisherClosed`. A call waits up to 5 s while `waitingBytes` of event data
     * wait to be stored, and fails with `PublisherBusy` then.
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

/** A transaction takes no further call once it has this many events: more would hold up the calls behind it. */
const maxBatch = 250

/** With this many events a transaction is worth its sync and waits for no more. */
const enough = 32

/** What an event that waits takes in memory beside its data, in bytes. */
const overhead = 256

/** How long a call waits for room, in milliseconds. */
const patience = 5_000

type Answer = Effect.Effect<ReadonlyArray<Published>, StoreError | KeyReused | PublisherClosed | PublisherBusy>

interface Call {
  readonly events: ReadonlyArray<NewEvent>
  readonly request: IdempotentRequest | null
  /** What it takes of `waitingBytes`. */
  readonly size: number
  readonly answer: (answer: Answer) => void
}

/** A call that waits for room. */
interface Blocked {
  readonly size: number
  readonly admit: () => void
}

/** A call whose events are stored. */
interface CarriedOut {
  readonly call: Call
  readonly answer: ReadonlyArray<Published>
}

/** An event with the integrations that it matches. */
interface Matched {
  readonly event: Event
  readonly integrations: ReadonlyArray<Integration | UnreadableMatch>
}

/** The definition of an event's type. Throws `InvalidInput` for a type that is not declared: readers refuse it before. */
const publishable = (types: ResourceTypeTable, { resource_type }: NewEvent): ResourceTypeDefinition => {
  const definition = types.get(resource_type)
  if (definition !== undefined) return definition
  const detail = `must be ${publishableText(types)}; ${JSON.stringify(resource_type)} is not declared`
  throw new InvalidInput({ title: "Invalid event", problems: [{ pointer: "/resource_type", detail }] })
}

// All events are looked at, so that an undeclared type behind an urgent event is found, too.
const isUrgent = (types: ResourceTypeTable, events: ReadonlyArray<NewEvent>): boolean =>
  events.reduce((isAny, event) => publishable(types, event).urgent || isAny, false)

const distinct = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => (items.length < 2 ? items : [...new Set(items)])

const sizeOf = (events: ReadonlyArray<NewEvent>): number =>
  events.reduce((size, { data }) => size + data.length + overhead, 0)

const countEvents = (calls: ReadonlyArray<Call>): number => calls.reduce((sum, { events }) => sum + events.length, 0)

/** Whether nothing was changed because something stored can't be read: calls that do not need that need not fail with it. */
const isRowProblem = ({ advice, outcome }: StoreError): boolean => advice !== undefined && outcome === undefined

/** Whether a failed change may have been carried out all the same: its answer was lost, or nobody waited for it. */
const mayBeStored = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterrupts(cause)) return true
  const error = Cause.squash(cause)
  return Predicate.isTagged(error, "StoreError") && Predicate.hasProperty(error, "outcome")
}

/** Accepts events for as long as the scope lives. Closing it carries out the calls that are in. */
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
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const run = Effect.runForkWith(context)
  const now = (): number => clock.currentTimeMillisUnsafe()

  // Calls that wait.

  const urgent: Array<Call> = []
  const ordinary: Array<Call> = []
  const blocked = new Set<Blocked>()
  const linger = new Linger()
  const turns = (yield* Scheduler.Scheduler).makeDispatcher()
  /** Opens when calls are in: a turn of the event loop after the first, so that those of one turn come in together. */
  const arrival = yield* Latch.make(false)
  let isArriving = false
  /** Whether the committer waits for a call. */
  let isWaiting = false
  /** Open while something waits that a transaction should not linger with. */
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

  /** What a batch took is free again. */
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
    const message = `${limit}, and there was no room within ${DurationText.format(patience)}. None of these events was stored: publish them again in a while.`
    return Effect.fail(new PublisherBusy({ message }))
  })

  /** Submits a call and waits for its answer; an ordinary one first waits for room. */
  const call = (events: ReadonlyArray<NewEvent>, request: IdempotentRequest | null): Answer => {
    const size = sizeOf(events)
    // Before the call is in: an undeclared type is the caller's defect and fails no other call.
    const isUrgentCall = isUrgent(types, events)
    return Effect.callback((answer) => {
      if (isClosed) return answer(Effect.fail(new PublisherClosed()))
      const submitCall = (): void => submit({ events, request, size, answer }, isUrgentCall)
      if (isUrgentCall || (blocked.size === 0 && fits(size))) return submitCall()
      // Submitted when there is room, in the order of arrival. A caller that leaves before that publishes nothing.
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

  // Batches: what the next transaction stores.

  /** Notes the ordinary calls that have come since the last time; says whether there were any. */
  const noteArrivals = (): boolean => {
    flushNow.closeUnsafe()
    if (arrived === 0) return false
    linger.arrived(arrived, now())
    arrived = 0
    return true
  }

  const mustNotLinger = (): boolean => isClosed || urgent.length > 0 || countEvents(ordinary) >= enough

  /** Waits for more calls. Says whether any came, null where the transaction must not wait longer. */
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

  /** What the last batch left does not wait for more; what came in during its transaction does. */
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

  // The way of a batch: match, store, hand over, answer.

  /** The integrations that events may match. `cached`: as the store has them in memory, which storing the events checks. */
  const candidatesOf = (events: ReadonlyArray<NewEvent>, cached: boolean) =>
    integrations.findByScopes({
      buildings: distinct(events.map((event) => event.building_id)),
      tenants: distinct(events.flatMap((event) => event.tenant_ids)),
      cached
    })

  const matchAll = (
    events: ReadonlyArray<NewEvent>,
    candidates: ReadonlyArray<Integration | UnreadableMatch>
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

  /** What was published by each of the calls whose events these are. */
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

  /** How a delivery is to be stored: kept in memory where there is room. */
  const initialOf = (
    event: Event,
    integration: Integration | UnreadableMatch,
    lane: NewDelivery["lane"],
    handover: Handover
  ): NewDelivery["initial"] => {
    if (integration.status === "disabled") return { state: "skipped", reason: "integration_disabled" }
    // It may not be bound to this event. Once its row is put right it is sent only what is recovered by hand.
    if (integration.bindings === null) return { state: "skipped", reason: "integration_unreadable" }
    return !isUnreadable(integration) && handover.keep(integration, lane, event.data.length)
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

  /** What of a stored publication is leased to this process. */
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
    // Begun before the integrations are read, so that a change after that is noticed.
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
      Effect.tapCause((cause) => Effect.sync(() => handover.failed(mayBeStored(cause) ? "unknown" : "not_stored")))
    )
  }

  const carryOutFresh = (
    calls: ReadonlyArray<Call>
  ): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict> =>
    Effect.catchTag(carryOutWith(calls, false), "StaleMatch", () => carryOutFresh(calls))

  /** Stores the events of calls, and answers them. */
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

  /** Those of calls that may have been made before. */
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

  const commit = (batch: ReadonlyArray<Call>): Effect.Effect<void, StoreError | IdempotencyConflict> => {
    const requested = batch.flatMap(({ request }) => (request === null ? [] : [request.key]))
    return requested.length === 0
      ? Effect.asVoid(carryOut(batch))
      : Effect.flatMap(keys.find(requested, now()), (remembered) => carryOutKeyed(batch, remembered))
  }

  /** Another process has carried a request with one of the keys out: now it is remembered. */
  const commitFresh = (batch: ReadonlyArray<Call>): Effect.Effect<void, StoreError> =>
    Effect.catchTag(
      Effect.suspend(() => commit(batch)),
      "IdempotencyConflict",
      () => commitFresh(batch)
    )

  /** Answers every call of a batch. */
  const answerAll = (batch: ReadonlyArray<Call>): Effect.Effect<void> =>
    commitFresh(batch).pipe(
      Effect.catchTag("StoreError", (error) => {
        if (batch.length === 1 || !isRowProblem(error)) return Effect.fail(error)
        // Which calls it matters to is not known: by halves, most of the others still share a transaction.
        const half = Math.ceil(batch.length / 2)
        return Effect.andThen(answerAll(batch.slice(0, half)), answerAll(batch.slice(half)))
      }),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          for (const { answer } of batch) answer(Effect.failCause(cause))
        })
      )
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
  // Calls that are in when the scope closes are still carried out; then there is nothing left to take.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isClosed = true
      for (const { admit } of blocked) admit()
      blocked.clear()
      arrival.openUnsafe()
      flushNow.openUnsafe()
      return Fiber.await(committing)
    })
  )

  return Publisher.of({
    publish: (events, request = null) =>
      // With a key an empty call is remembered, too: another request must not have the key.
      Effect.suspend(() => (events.length === 0 && request === null ? Effect.succeed([]) : call(events, request)))
  })
})
