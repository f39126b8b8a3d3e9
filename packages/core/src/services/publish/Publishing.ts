/**
 * The publisher: matches events and stores them with their deliveries.
 *
 * Calls share transactions, so that one sync to disk serves them all (group commit, `Intake`). A call is answered when its
 * own events are durable.
 */
import { Clock, Deferred, Effect, Fiber } from "effect"
import type { Scope } from "effect"
import type { Lane, LeasedDelivery } from "../../domain/Delivery.ts"
import { laneOf } from "../../domain/Delivery.ts"
import type { Event, NewEvent } from "../../domain/Event.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import { makeEventIds } from "../../domain/Ids.ts"
import type { Integration } from "../../domain/Integration.ts"
import { Crypto } from "../../ports/Crypto.ts"
import type { NewDelivery, NewEventRecord } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { RememberedRequest } from "../../ports/IdempotencyStore.ts"
import { IdempotencyStore } from "../../ports/IdempotencyStore.ts"
import type { UnreadableMatch } from "../../ports/IntegrationStore.ts"
import { IntegrationStore, isUnreadable } from "../../ports/IntegrationStore.ts"
import type { StoreError } from "../../ports/StoreError.ts"
import { Wake } from "../../ports/Wake.ts"
import { makeMatcher } from "../../rules/Matching.ts"
import { eventsAccepted } from "../DeliveryMetrics.ts"
import type { Handover } from "../Dispatcher.ts"
import { Dispatcher } from "../Dispatcher.ts"
import type { IdempotentRequest } from "../Idempotency.ts"
import { KeyReused } from "../Idempotency.ts"
import type { Published, Publisher } from "../Publisher.ts"
import { PublisherClosed } from "../Publisher.ts"
import { waking } from "../Waking.ts"
import { makeIntake } from "./Intake.ts"
import { answerOf, remember, sortCalls } from "./Remembering.ts"

type Answer = Deferred.Deferred<ReadonlyArray<Published>, StoreError | KeyReused>

const makeReply = Deferred.make<ReadonlyArray<Published>, StoreError | KeyReused>()

interface Call {
  readonly events: ReadonlyArray<NewEvent>
  readonly request: IdempotentRequest | null
  readonly reply: Answer
}

/** An event with the integrations it matches. */
interface Matched {
  readonly event: Event
  readonly integrations: ReadonlyArray<Integration | UnreadableMatch>
}

/** A delivery that is about to be stored. */
interface Candidate {
  readonly event: Event
  readonly integration: Integration | UnreadableMatch
  readonly integration_id: IntegrationId
  readonly lane: Lane
}

/** A delivery that can be sent: the dispatcher is asked for room for it. */
interface Sendable extends Candidate, Handover {
  readonly integration: Integration
}

const isSendable = (candidate: Candidate | Sendable): candidate is Sendable =>
  !isUnreadable(candidate.integration) && candidate.integration.status === "enabled"

/** Whether nothing was changed because something stored can't be read: calls that do not need that need not fail with it. */
const isRowProblem = ({ advice, outcome }: StoreError): boolean => advice !== undefined && outcome === undefined

const candidateOf = (event: Event, integration: Integration | UnreadableMatch): Candidate | Sendable => {
  const lane = laneOf(event.resource_type, 0)
  return isUnreadable(integration)
    ? { event, integration, integration_id: integration.id, lane }
    : { event, integration, integration_id: integration.id, lane, owner: integration.created_by.user_id }
}

/** Starts taking events in, for as long as the scope lives; closing it carries out the calls that are in. */
export const makePublisher: Effect.Effect<
  Publisher["Service"],
  never,
  Scope.Scope | DeliveryStore | IntegrationStore | IdempotencyStore | Dispatcher | Wake | Crypto
> = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const integrations = yield* IntegrationStore
  const dispatcher = yield* Dispatcher
  const wake = yield* Wake
  const keys = yield* IdempotencyStore
  const crypto = yield* Crypto
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const intake = yield* makeIntake<Call>()

  const matchAll = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>) {
    const candidates = yield* integrations.ofScopes({
      buildings: [...new Set(events.map((event) => event.building_id))],
      tenants: [...new Set(events.flatMap((event) => event.tenant_ids))]
    })
    const now = clock.currentTimeMillisUnsafe()
    const ids = yield* makeEventIds(crypto, now, events.length)
    const match = makeMatcher(candidates)
    return ids.flatMap((id, index): ReadonlyArray<Matched> => {
      const event = events[index]
      return event === undefined ? [] : [{ event: { ...event, id, created_at: now }, integrations: match(event) }]
    })
  })

  /** Stores matched events, and hands over to the dispatcher what it has room for. */
  const storeAll = Effect.fnUntraced(function* (
    matched: ReadonlyArray<Matched>,
    remembered: ReadonlyArray<RememberedRequest>
  ) {
    const groups = matched.map(({ event, integrations }) => ({
      event,
      candidates: integrations.map((integration) => candidateOf(event, integration))
    }))
    const candidates = groups.flatMap((group) => group.candidates)
    const wanted = candidates.filter(isSendable)
    const { admitted: fits, lease } = yield* dispatcher.reserve(wanted)
    const reserved = wanted.filter((_, place) => fits[place])
    const admitted = new Set<Candidate>(reserved)
    const initialOf = (candidate: Candidate): NewDelivery["initial"] => {
      const { bindings, status } = candidate.integration
      if (status === "disabled") return { state: "skipped", reason: "integration_disabled" }
      // It may not have asked for this event, so once its row is put right it is sent only what is recovered by hand.
      if (bindings === null) return { state: "skipped", reason: "integration_unreadable" }
      return admitted.has(candidate) ? { state: "delivering", lease } : { state: "pending" }
    }
    const records: ReadonlyArray<NewEventRecord> = groups.map((group) => ({
      event: group.event,
      deliveries: group.candidates.map((candidate) => ({
        integration_id: candidate.integration_id,
        lane: candidate.lane,
        matched_version: candidate.integration.version,
        initial: initialOf(candidate)
      }))
    }))
    // Signals where it fails and may be stored all the same; what is stored for sure is signalled below.
    const storing = waking(wake, store.enqueue(records, remembered), () => false)
    const answers = yield* Effect.onError(storing, () => dispatcher.cancel(reserved))
    const stored = answers.flat()
    const leased: Array<LeasedDelivery> = []
    const refused: Array<Handover> = []
    candidates.forEach((candidate, place) => {
      if (!isSendable(candidate) || !admitted.has(candidate)) return
      const { event, integration, lane } = candidate
      const delivery = stored[place]
      if (delivery?.state === "delivering")
        leased.push({ id: delivery.id, lease, lane, attempts: 0, event, integration })
      // Its integration was deleted, disabled or changed between the match and now.
      else refused.push(candidate)
    })
    yield* dispatcher.accept(leased)
    if (refused.length > 0) yield* dispatcher.cancel(refused)
    const isWaiting = (candidate: Candidate): boolean =>
      candidate.integration.status === "enabled" && !admitted.has(candidate)
    if (refused.length > 0 || candidates.some(isWaiting)) yield* wake.signal
  })

  const countAccepted = (events: ReadonlyArray<NewEvent>): void => {
    for (const [type, counter] of eventsAccepted) {
      const count = events.filter((event) => event.resource_type === type).length
      if (count > 0) counter.updateUnsafe(count, context)
    }
  }

  /** Stores the events of calls, and answers what was published by each. */
  const carryOut = Effect.fnUntraced(function* (calls: ReadonlyArray<Call>) {
    if (calls.length === 0) return []
    const events = calls.flatMap((call) => call.events)
    const matched = yield* matchAll(events)
    let at = 0
    const published = calls.map((call) => ({
      call,
      events: matched
        .slice(at, (at += call.events.length))
        .map(({ event, integrations }) => ({ id: event.id, deliveries: integrations.length }))
    }))
    const now = clock.currentTimeMillisUnsafe()
    const remembered = published.flatMap(({ call, events }) =>
      call.request === null ? [] : [remember(call.request, events, now)]
    )
    yield* storeAll(matched, remembered)
    countAccepted(events)
    return published
  })

  const commit = Effect.fnUntraced(function* (batch: ReadonlyArray<Call>) {
    const requested = batch.flatMap(({ request }) => (request === null ? [] : [request.key]))
    const remembered = requested.length === 0 ? [] : yield* keys.find(requested, clock.currentTimeMillisUnsafe())
    const { fresh, refused, repeated, replayed } = sortCalls(batch, remembered)
    const published = new Map((yield* carryOut(fresh)).map(({ call, events }) => [call, events]))
    for (const [call, events] of published) Deferred.doneUnsafe(call.reply, Effect.succeed(events))
    for (const { call, of } of repeated) Deferred.doneUnsafe(call.reply, Effect.succeed(published.get(of) ?? []))
    for (const { as, call } of replayed) Deferred.doneUnsafe(call.reply, answerOf(as))
    for (const call of refused) Deferred.doneUnsafe(call.reply, Effect.fail(new KeyReused()))
  })

  /** Another process carried a request with one of the keys out meanwhile: now it is remembered. */
  const commitFresh = (batch: ReadonlyArray<Call>): Effect.Effect<void, StoreError> =>
    Effect.catchTag(commit(batch), "KeyTaken", () => commitFresh(batch))

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
          for (const call of batch) Deferred.doneUnsafe(call.reply, Effect.failCause(cause))
        })
      )
    )

  const committer = Effect.forever(
    Effect.flatMap(intake.takeBatch, (batch) => Effect.uninterruptible(answerAll(batch)))
  )

  const committing = yield* Effect.forkScoped(committer)
  // Calls that are in when the scope closes are still carried out; then there is nothing left to take.
  yield* Effect.addFinalizer(() => Effect.andThen(intake.close, Fiber.await(committing)))

  return {
    publish: Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>, request: IdempotentRequest | null = null) {
      // With a key it is remembered too: another request must not have the key.
      if (events.length === 0 && request === null) return []
      const reply = yield* makeReply
      if (!(yield* intake.offer({ events, request, reply }))) return yield* new PublisherClosed()
      return yield* Deferred.await(reply)
    })
  }
})
