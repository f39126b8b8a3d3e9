/**
 * Accepts events: matches them with integrations, stores them, and hands their deliveries over to the dispatcher. An
 * event is accepted once the event and its deliveries are durable.
 *
 * Calls that arrive during a transaction wait for the next one, and share it and its disk sync (group commit). If many
 * calls arrive one by one, a transaction waits briefly for more (`Linger`). A call with an urgent event joins the next
 * transaction ahead of all ordinary calls, and an eighth of `waitingBytes` is only for such calls. Each call is answered
 * when its own events are durable.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, Latch, Layer, Option, Scheduler, Schema } from "effect"
import type { Scope } from "effect"
import type { NotServed } from "../model/BuildingMoves.ts"
import { Absence, refusalOf } from "../model/BuildingMoves.ts"
import * as DurationText from "../model/DurationText.ts"
import { callKeyOf, callMarkOf } from "../model/CallMark.ts"
import type { LeasedDelivery } from "../model/Delivery.ts"
import { laneOf } from "../model/Delivery.ts"
import type { Event, NewEvent } from "../model/Event.ts"
import { makeEventIds } from "./EventIds.ts"
import type { Integration } from "../model/Integration.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import { bytesOf } from "../model/JsonText.ts"
import type { ResourceTypeDefinition, ResourceTypeTable } from "../model/ResourceType.ts"
import { callEndType, publishableText, ResourceTypes } from "../model/ResourceType.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { Enqueued, NewDelivery, NewEventRecord, StaleMatch } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IdempotencyConflict, IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { UnreadableIntegration } from "../ports/IntegrationStore.ts"
import { IntegrationStore, isUnreadable } from "../ports/IntegrationStore.ts"
import type { StoreClockShape } from "../ports/StoreClock.ts"
import { storeClock } from "../ports/StoreClock.ts"
import { StoreError } from "../ports/StoreError.ts"
import type { Handover } from "../delivery/Dispatcher.ts"
import { Dispatcher } from "../delivery/Dispatcher.ts"
import { makeMatcher } from "../model/Matcher.ts"
import { DataWarnings } from "../delivery/DataWarnings.ts"
import { beginUrgent, logDefect } from "../delivery/Loops.ts"
import { countAccepted } from "../delivery/DeliveryMetrics.ts"
import { DeliverySettings } from "../delivery/DeliverySettings.ts"
import type { IdempotentRequest } from "./Idempotency.ts"
import { KeyReused } from "./Idempotency.ts"
import { decodeAnswer, makeRecord, partitionByKey } from "./Idempotency.ts"
import type { Published } from "./Idempotency.ts"
import { Linger } from "./Linger.ts"
import { reader } from "./PublishRequest.ts"
import type { EventSignal } from "./StoredEvents.ts"
import { StoredEvents } from "./StoredEvents.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import {
  busyKeyPause,
  defectPause,
  enoughEvents,
  eventOverhead,
  publishBatch,
  publishPatience
} from "../delivery/EngineConstants.ts"

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

/** Services that a publisher needs. */
type Needs = DeliveryStore | IntegrationStore | IdempotencyStore | DeliverySettings | Dispatcher | Crypto

export class Publisher extends Context.Service<Publisher, Pick<GroupCommitPublisher, "publish">>()(
  "@doorhook/core/publish/Publisher"
) {
  static readonly layer: Layer.Layer<Publisher, never, Needs> = Layer.effect(
    Publisher,
    Effect.suspend(() => GroupCommitPublisher.make)
  )

  /**
   * Publishes one event or a list of events given as values of unknown type. Fails with all problems (`InvalidInput`) if
   * one of them is no event.
   */
  static publishValue(value: unknown) {
    return Effect.gen(function* () {
      const { events } = yield* Effect.fromResult((yield* reader).fromValue(value))
      return yield* (yield* Publisher).publish(events)
    })
  }
}

type Answer = Effect.Effect<
  ReadonlyArray<Published>,
  StoreError | KeyReused | PublisherClosed | PublisherBusy | NotServed
>

interface Call {
  readonly events: ReadonlyArray<NewEvent>
  readonly request: IdempotentRequest | null
  /** Whether an event is of an urgent type. */
  readonly isUrgent: boolean
  /** Memory that the call uses while it waits, counted against `waitingBytes`, in bytes. */
  readonly size: number
  readonly answer: (answer: Answer) => void
}

/** A call that waits for room in `waitingBytes`. */
interface Blocked {
  readonly call: Call
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

/** Compares an event's data with its schema, if the service does. Throws `InvalidInput` for refused data. */
const checkData = (types: ResourceTypeTable, event: NewEvent, warnings: DataWarnings): void => {
  const { check } = publishable(types, event)
  if (check === undefined) return
  if (check.mode === "warn") return warnings.note(event)
  const problems = check.problemsIn(event.data)
  const invalid = InvalidInput.of(
    "Invalid event",
    problems.map(({ detail, pointer }) => ({ pointer: `/data${pointer}`, detail }))
  )
  if (invalid !== null) throw invalid
}

// Does not stop at the first urgent event, so that an undeclared type in any event is detected.
const hasUrgent = (types: ResourceTypeTable, events: ReadonlyArray<NewEvent>): boolean =>
  events.reduce((isAny, event) => publishable(types, event).urgent || isAny, false)

const distinct = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => (items.length < 2 ? items : [...new Set(items)])

const sizeOf = (events: ReadonlyArray<NewEvent>): number =>
  events.reduce((size, { data }) => size + bytesOf(data) + eventOverhead, 0)

const countEvents = (calls: ReadonlyArray<Call>): number => calls.reduce((sum, { events }) => sum + events.length, 0)

/** Whether a change that failed with this cause might have been carried out, at least in part. */
const mayBeStored = (cause: Cause.Cause<unknown>): boolean => {
  if (Cause.hasInterrupts(cause) || Cause.hasDies(cause)) return true
  return storeErrorOf(cause)?.outcome !== undefined
}

/** Returns the store's error in a cause; null if the store has not failed. */
const storeErrorOf = (cause: Cause.Cause<unknown>): StoreError | null => {
  const error = Cause.squash(cause)
  return error instanceof StoreError ? error : null
}

const busyError = (waitingBytes: number): PublisherBusy => {
  const limit = `${waitingBytes} bytes of events wait to be stored (setting waitingBytes)`
  const message = `${limit}, and there was no room within ${DurationText.format(publishPatience)}. None of these events was stored: publish them again later.`
  return new PublisherBusy({ message })
}

/** Groups the matched events by call. */
const shareOut = (calls: ReadonlyArray<Call>, matched: ReadonlyArray<Matched>): ReadonlyArray<CarriedOut> => {
  let at = 0
  return calls.map((call) => {
    const from = at
    at += call.events.length
    const answer = matched
      .slice(from, at)
      .map(({ event, integrations }) => ({ id: event.id, deliveries: integrations.length }))
    return { call, answer }
  })
}

/** Begins urgent work that ends when the call is answered. */
const endingUrgent = (call: Call, clock: Clock.Clock): Call => {
  const end = beginUrgent(clock)
  return {
    ...call,
    answer: (answer) => {
      end()
      call.answer(answer)
    }
  }
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
  return handover.keep(integration, lane, bytesOf(event.data))
    ? { state: "delivering", worker: handover.worker }
    : { state: "pending" }
}

/** Returns the stored deliveries that are leased to this process. */
const leasedOf = (
  matched: ReadonlyArray<Matched>,
  records: ReadonlyArray<NewEventRecord>,
  stored: ReadonlyArray<ReadonlyArray<Enqueued>>
): ReadonlyArray<LeasedDelivery> => {
  const leased: Array<LeasedDelivery> = []
  matched.forEach(({ event, integrations }, at) =>
    integrations.forEach((integration, place) => {
      const delivery = stored[at]?.[place]
      const lane = records[at]?.deliveries[place]?.lane
      if (delivery?.state !== "delivering" || lane === undefined || isUnreadable(integration)) return
      const { id } = delivery
      leased.push({ id, lane, attempts: 0, early: 0, early_due_at: null, resend: false, event, integration })
    })
  )
  return leased
}

interface PublisherParts {
  readonly store: DeliveryStore["Service"]
  readonly integrations: IntegrationStore["Service"]
  readonly keys: IdempotencyStore["Service"]
  readonly dispatcher: Dispatcher["Service"]
  readonly crypto: Crypto["Service"]
  readonly waitingBytes: number
  readonly types: ResourceTypeTable
  readonly clock: StoreClockShape
  readonly context: Context.Context<never>
  readonly turns: Scheduler.SchedulerDispatcher
  readonly storedEvents: EventSignal
  readonly absence: (typeof Absence)["Service"]
}

class GroupCommitPublisher {
  readonly #store: DeliveryStore["Service"]
  readonly #integrations: IntegrationStore["Service"]
  readonly #keys: IdempotencyStore["Service"]
  readonly #dispatcher: Dispatcher["Service"]
  readonly #crypto: Crypto["Service"]
  readonly #waitingBytes: number
  readonly #types: ResourceTypeTable
  readonly #clock: StoreClockShape
  readonly #context: Context.Context<never>
  readonly #run: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  readonly #turns: Scheduler.SchedulerDispatcher
  readonly #warnings: DataWarnings
  readonly #storedEvents: EventSignal
  readonly #absence: (typeof Absence)["Service"]

  readonly #urgent: Array<Call> = []
  readonly #ordinary: Array<Call> = []
  readonly #blockedUrgent = new Set<Blocked>()
  readonly #blockedOrdinary = new Set<Blocked>()
  /** Size of the calls that wait to be stored, in bytes. */
  #waitingSize = 0
  readonly #linger = new Linger()
  /** Number of ordinary calls that `#linger` does not know yet. */
  #arrived = 0
  /** Opens one turn of the event loop after the first call, so that calls made in the same turn share a transaction. */
  readonly #arrival = Latch.makeUnsafe(false)
  #isArriving = false
  /** Whether the commit loop waits for a call. */
  #isWaiting = false
  /** Opens to end a linger early: for an urgent call, for a call with many events, or when the publisher closes. */
  readonly #flushNow = Latch.makeUnsafe(false)
  /** Repetitions of calls whose keys another process was using. */
  readonly #repeating = new Set<Fiber.Fiber<void>>()
  #isClosed = false
  /** Whether calls whose keys other processes use are no longer repeated. */
  #hasGivenUp = false

  private constructor(parts: PublisherParts) {
    this.#store = parts.store
    this.#integrations = parts.integrations
    this.#keys = parts.keys
    this.#dispatcher = parts.dispatcher
    this.#crypto = parts.crypto
    this.#waitingBytes = parts.waitingBytes
    this.#types = parts.types
    this.#clock = parts.clock
    this.#context = parts.context
    this.#run = Effect.runForkWith(parts.context)
    this.#turns = parts.turns
    this.#warnings = new DataWarnings(parts.types, this.#run)
    this.#storedEvents = parts.storedEvents
    this.#absence = parts.absence
  }

  /** Makes a publisher that accepts events until the scope closes. It still carries out the calls received by then. */
  static readonly make: Effect.Effect<GroupCommitPublisher, never, Needs | Scope.Scope> = Effect.gen(function* () {
    const publisher = new GroupCommitPublisher({
      store: yield* DeliveryStore,
      integrations: yield* IntegrationStore,
      keys: yield* IdempotencyStore,
      dispatcher: yield* Dispatcher,
      crypto: yield* Crypto,
      waitingBytes: (yield* DeliverySettings).waitingBytes,
      types: yield* ResourceTypes,
      clock: yield* storeClock,
      context: yield* Effect.context<never>(),
      turns: (yield* Scheduler.Scheduler).makeDispatcher(),
      storedEvents: yield* StoredEvents,
      absence: yield* Absence
    })
    const committing = yield* Effect.forkScoped(publisher.#commitBatches())
    yield* Effect.addFinalizer(() => publisher.#close(committing))
    return publisher
  })

  /**
   * Accepts all of the events or none; none if another database serves one of the buildings. Returns results in the given
   * order. With an idempotency key, a request repeated within 24 hours gets the first answer and publishes nothing. Calls
   * made before the publisher's scope closes are still carried out; later calls fail with `PublisherClosed`. While
   * `waitingBytes` of event data wait to be stored, a call waits for up to 5 s and then fails with `PublisherBusy`. When
   * the scope closes, a call whose idempotency key another process uses is repeated for up to 5 s.
   */
  readonly publish = (events: ReadonlyArray<NewEvent>, request: IdempotentRequest | null = null): Answer =>
    // A call without events but with a key is recorded, so that a different request can't use the key.
    Effect.suspend(() => (events.length === 0 && request === null ? Effect.succeed([]) : this.#call(events, request)))

  // Calls wait until the next transaction takes them.

  /** Submits a call as soon as there is room, and waits for its answer. */
  #call(events: ReadonlyArray<NewEvent>, request: IdempotentRequest | null): Answer {
    const size = sizeOf(events)
    const refusal = refusalOf(
      this.#absence,
      events.map(({ building_id: id }) => ({ type: "building", id }))
    )
    if (refusal !== null) return Exit.fail(refusal)
    // Checked before submitting, because an undeclared type is a defect of this caller and must not fail other calls.
    const isUrgent = hasUrgent(this.#types, events)
    for (const event of events) checkData(this.#types, event, this.#warnings)
    return Effect.callback((answer) => {
      if (this.#isClosed) return answer(Effect.fail(new PublisherClosed()))
      const call = { events, request, isUrgent, size, answer }
      const isBehind = this.#blockedUrgent.size > 0 || (!isUrgent && this.#blockedOrdinary.size > 0)
      if (isBehind || !this.#fits(call)) return this.#block(call)
      this.#submit(call)
    })
  }

  /** Lets a call wait for room. Returns how to stop waiting; a call interrupted before it is submitted is not stored. */
  #block(call: Call): Effect.Effect<void> {
    // Once there is room, calls are submitted in order of arrival, urgent ones first.
    const blocked = call.isUrgent ? this.#blockedUrgent : this.#blockedOrdinary
    const leave = Effect.sync(() => blocked.delete(waiter))
    const expiry = this.#run(
      Effect.delay(
        Effect.map(leave, (hasLeft) => {
          if (hasLeft) call.answer(Effect.fail(busyError(this.#waitingBytes)))
        }),
        publishPatience
      )
    )
    const waiter: Blocked = {
      call,
      admit: () => {
        blocked.delete(waiter)
        expiry.interruptUnsafe()
        this.#submit(call)
      }
    }
    blocked.add(waiter)
    return Effect.andThen(leave, Fiber.interrupt(expiry))
  }

  #submit(call: Call): void {
    this.#waitingSize += call.size
    if (call.isUrgent) this.#urgent.push(endingUrgent(call, Context.get(this.#context, Clock.Clock)))
    else {
      this.#ordinary.push(call)
      this.#arrived++
    }
    if (call.isUrgent || call.events.length >= enoughEvents) this.#flushNow.openUnsafe()
    if (this.#isArriving || !this.#isWaiting) return
    this.#isArriving = true
    this.#turns.scheduleTask(this.#arrive, 0)
  }

  readonly #arrive = (): void => {
    this.#isArriving = false
    this.#arrival.openUnsafe()
  }

  #fits({ isUrgent, size }: Call): boolean {
    const limit = isUrgent ? this.#waitingBytes : this.#waitingBytes - Math.floor(this.#waitingBytes / 8)
    return this.#waitingSize === 0 || this.#waitingSize + size <= limit
  }

  /** Frees the memory counted for a batch and admits blocked calls. */
  #free(batch: ReadonlyArray<Call>): void {
    for (const { size } of batch) this.#waitingSize -= size
    for (const { admit, call } of this.#allBlocked()) {
      if (!this.#fits(call)) return
      admit()
    }
  }

  #allBlocked(): ReadonlyArray<Blocked> {
    return [...this.#blockedUrgent, ...this.#blockedOrdinary]
  }

  // The commit loop: takes the calls that share a transaction.

  #commitBatches(): Effect.Effect<never, Cause.Done> {
    const next = Effect.flatMap(this.#takeBatch(), (batch) =>
      Effect.uninterruptible(Effect.map(this.#answerAll(batch), () => this.#free(batch)))
    )
    // Without this, a defect would leave all later calls without an answer.
    return Effect.forever(
      Effect.catchDefect(next, (defect) =>
        Effect.andThen(logDefect("Storing publications failed; it continues", defect), Effect.sleep(defectPause))
      )
    )
  }

  /**
   * Takes the next batch. Calls left over from the last batch are taken immediately; otherwise, `Linger` might wait for
   * more calls first.
   */
  #takeBatch(): Effect.Effect<ReadonlyArray<Call>, Cause.Done> {
    return Effect.map(
      Effect.suspend(() => {
        if (this.#urgent.length === 0 && this.#ordinary.length <= this.#arrived) return this.#awaitCalls()
        this.#noteArrivals()
        return Effect.void
      }),
      () => {
        const first = this.#urgent.length > 0 ? this.#urgent : this.#ordinary
        let count = 0
        for (let size = 0; count < first.length && size < publishBatch; count++)
          size += first[count]?.events.length ?? 0
        return first.splice(0, count)
      }
    )
  }

  #awaitCalls(): Effect.Effect<void, Cause.Done> {
    this.#isWaiting = this.#urgent.length + this.#ordinary.length === 0
    if (this.#isWaiting) {
      if (this.#isClosed) return Cause.done()
      this.#arrival.closeUnsafe()
      return Effect.flatMap(this.#arrival.await, () => this.#awaitCalls())
    }
    this.#noteArrivals()
    const wait = this.#linger.wait(this.#clock.now())
    return wait === 0 || this.#mustNotLinger() ? Effect.void : this.#lingerTwice(wait)
  }

  /** Reports new ordinary calls to `Linger`. Returns whether there were any. */
  #noteArrivals(): boolean {
    this.#flushNow.closeUnsafe()
    if (this.#arrived === 0) return false
    this.#linger.arrived(this.#arrived, this.#clock.now())
    this.#arrived = 0
    return true
  }

  #mustNotLinger(): boolean {
    return this.#isClosed || this.#urgent.length > 0 || countEvents(this.#ordinary) >= enoughEvents
  }

  #lingerTwice(wait: number): Effect.Effect<void> {
    return Effect.flatMap(this.#lingerFor(wait / 2), (came) =>
      came === null
        ? Effect.void
        : Effect.map(this.#lingerFor(wait / 2), (cameLate) => {
            if (cameLate !== null) this.#linger.waited(cameLate, this.#clock.now())
          })
    )
  }

  /** Waits for more calls. Returns whether any arrived, or null if the transaction must not wait longer. */
  #lingerFor(time: number): Effect.Effect<boolean | null> {
    return Effect.map(Effect.timeoutOption(this.#flushNow.await, time), (flushed) => {
      const came = this.#noteArrivals()
      return Option.isSome(flushed) || this.#mustNotLinger() ? null : came
    })
  }

  // Each call of a batch is answered once.

  /**
   * Commits a batch and answers all of its calls. If another process has just used one of the keys, tries again, now with
   * that key's record. Calls whose keys other processes use now are answered later, and don't delay the others.
   */
  #answerAll(batch: ReadonlyArray<Call>): Effect.Effect<void> {
    return Effect.suspend(() => this.#commit(batch)).pipe(
      Effect.catchTag("IdempotencyConflict", ({ busy = [] }) => {
        const isBusy = ({ request }: Call): boolean => request !== null && busy.includes(request.key)
        for (const call of batch.filter(isBusy)) this.#repeatSoon(call)
        return this.#answerAll(batch.filter((each) => !isBusy(each)))
      }),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          for (const { answer } of batch) answer(Effect.failCause(cause))
        })
      )
    )
  }

  /** Repeats a call soon. Until it is answered, its events count as waiting. Nothing of the call is stored yet. */
  #repeatSoon(call: Call): void {
    if (this.#hasGivenUp) return call.answer(Effect.fail(new PublisherClosed()))
    this.#waitingSize += call.size
    const again = Effect.map(this.#answerAll([call]), () => this.#free([call]))
    const fiber = this.#run(Effect.delay(again, busyKeyPause))
    this.#repeating.add(fiber)
    fiber.addObserver(() => this.#repeating.delete(fiber))
  }

  /** Commits a batch. If the time is uncertain, the store's clock is measured first, because events get their times. */
  #commit(batch: ReadonlyArray<Call>): Effect.Effect<void, StoreError | IdempotencyConflict> {
    const requested = batch.flatMap(({ request }) => (request === null ? [] : [request.key]))
    const commit = (): Effect.Effect<void, StoreError | IdempotencyConflict> =>
      requested.length === 0
        ? Effect.asVoid(this.#carryOut(batch))
        : Effect.flatMap(this.#reported(this.#keys.find(requested, this.#clock.now())), (known) =>
            this.#carryOutKeyed(batch, known)
          )
    return this.#clock.isCertain() ? commit() : Effect.flatMap(this.#reported(this.#clock.measure), commit)
  }

  /** Reports a failure of the store before a batch is handed over. */
  #reported<A>(read: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> {
    return Effect.tapError(read, (error) => Effect.sync(() => this.#dispatcher.refused(error)))
  }

  /** Carries out a batch in which some calls have idempotency keys. */
  #carryOutKeyed(
    batch: ReadonlyArray<Call>,
    remembered: ReadonlyArray<IdempotencyRecord>
  ): Effect.Effect<void, StoreError | IdempotencyConflict> {
    const { fresh, refused, repeated, replayed } = partitionByKey(batch, remembered)
    return Effect.map(this.#carryOut(fresh), (carriedOut) => {
      const answers = new Map(carriedOut.map((each) => [each.call, each.answer]))
      for (const { call, of } of repeated) call.answer(Effect.succeed(answers.get(of) ?? []))
      for (const { as, call } of replayed) call.answer(decodeAnswer(as))
      for (const { answer } of refused) answer(Effect.fail(new KeyReused()))
    })
  }

  /** Stores the events of calls, and answers the calls. */
  #carryOut(calls: ReadonlyArray<Call>): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict> {
    if (calls.length === 0) return Effect.succeed([])
    const stored = Effect.catchTag(this.#storeEvents(calls, true), "StaleMatch", () => this.#storeFresh(calls))
    return Effect.map(stored, (carriedOut) => {
      for (const { answer, call } of carriedOut) call.answer(Effect.succeed(answer))
      return carriedOut
    })
  }

  #storeFresh(calls: ReadonlyArray<Call>): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict> {
    return Effect.catchTag(this.#storeEvents(calls, false), "StaleMatch", () => this.#storeFresh(calls))
  }

  // Events of a transaction: match, reserve room, store, hand over.

  /**
   * Stores the events of calls with their deliveries. If `cached`, the integrations are read from memory, and their
   * versions are checked when the events are stored.
   */
  #storeEvents(
    calls: ReadonlyArray<Call>,
    cached: boolean
  ): Effect.Effect<ReadonlyArray<CarriedOut>, StoreError | IdempotencyConflict | StaleMatch> {
    const events = calls.flatMap((each) => each.events)
    // The handover begins before the integrations are read, so that it detects later changes to them.
    const handover = this.#dispatcher.handOver()
    return this.#candidatesOf(events, cached).pipe(
      Effect.flatMap((candidates) => {
        const matched = this.#matchAll(events, candidates)
        const carriedOut = shareOut(calls, matched)
        const remembered = carriedOut.flatMap(({ answer, call: { request } }) =>
          request === null ? [] : [makeRecord(request, answer, this.#clock.now())]
        )
        const records = matched.map((each) => this.#recordOf(each, handover))
        return Effect.map(this.#store.enqueue(records, remembered, candidates), (stored) => {
          const hasDue = stored.some((deliveries) => deliveries.some(({ state }) => state === "pending"))
          const ended = records.flatMap(({ call, event }) => (call?.isEnd === true ? [callKeyOf(event, call)] : []))
          handover.stored(leasedOf(matched, records, stored), hasDue, ended)
          this.#storedEvents.signal()
          countAccepted(events, this.#context)
          return carriedOut
        })
      }),
      Effect.tapCause((cause) =>
        Effect.sync(() => handover.failed(mayBeStored(cause) ? "unknown" : "not_stored", storeErrorOf(cause)))
      )
    )
  }

  /** Returns the integrations that these events might match. */
  #candidatesOf(events: ReadonlyArray<NewEvent>, cached: boolean) {
    return this.#integrations.findByScopes({
      buildings: distinct(events.map((event) => event.building_id)),
      tenants: distinct(events.flatMap((event) => event.tenant_ids)),
      cached
    })
  }

  #matchAll(
    events: ReadonlyArray<NewEvent>,
    candidates: ReadonlyArray<Integration | UnreadableIntegration>
  ): ReadonlyArray<Matched> {
    const created_at = this.#clock.now()
    const ids = makeEventIds(this.#crypto, created_at, events.length)
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

  #recordOf({ event, integrations }: Matched, handover: Handover): NewEventRecord {
    const lane = laneOf(publishable(this.#types, event), 0)
    const call = this.#types.has(callEndType) ? callMarkOf(event) : null
    return {
      event,
      ...(call !== null && { call }),
      deliveries: integrations.map((integration) => ({
        integration_id: integration.id,
        lane,
        matched_version: integration.version,
        initial: initialOf(event, integration, lane, handover)
      }))
    }
  }

  // Closing.

  /** Carries out the calls that have been received. */
  #close(committing: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#isClosed = true
      for (const { admit } of this.#allBlocked()) admit()
      this.#arrival.openUnsafe()
      this.#flushNow.openUnsafe()
      return Fiber.await(committing).pipe(
        Effect.andThen(Effect.timeoutOption(this.#repeatedAll(), publishPatience)),
        // The process that uses a key may have vanished in its transaction.
        Effect.andThen(Effect.sync(() => (this.#hasGivenUp = true))),
        Effect.andThen(this.#repeatedAll())
      )
    })
  }

  #repeatedAll(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#repeating.size === 0 ? Effect.void : Effect.andThen(Fiber.awaitAll(this.#repeating), this.#repeatedAll())
    )
  }
}
