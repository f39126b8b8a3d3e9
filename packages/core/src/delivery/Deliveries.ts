/**
 * The operator's view of deliveries: list, show, resend, recover.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { areOfOneCall, callLifetime, callMarkOf } from "../model/CallMark.ts"
import type { Attempt, Delivery, DeliveryState } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { EventId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { formatDeliveryId, DeliveryId, IntegrationId } from "../model/Ids.ts"
import type { IntegrationSearch } from "../model/IntegrationSearch.ts"
import type {
  DeliveryFilter,
  DeliverySummary,
  FoundDelivery,
  ListedDelivery,
  RedeliverResult
} from "../ports/DeliveryStore.ts"
import { callEndType } from "../model/ResourceType.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { IntegrationStore, isUnreadable } from "../ports/IntegrationStore.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { WakeSignal } from "../ports/WakeSignal.ts"
import type { Explanation, Reader } from "./Explanation.ts"
import { explain } from "./Explanation.ts"
import type { MissingDelivery, MissingVerdict } from "./EventExplanation.ts"
import { explainMissing, explainUnknownEvent } from "./EventExplanation.ts"
import { expiryOf, policyOf, unexpiredSince } from "../model/RetryPolicy.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import type { Sentence, Sentences } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import { signalAfter } from "./SignalAfter.ts"

export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", { id: DeliveryId }) {
  get said(): Sentence {
    return say("error_unknown_delivery", { id: formatDeliveryId(this.id) })
  }

  override get message(): string {
    return english(this.said)
  }
}

export class IntegrationNotFound extends Schema.TaggedError<IntegrationNotFound>()("IntegrationNotFound", {
  id: IntegrationId
}) {
  get said(): Sentence {
    return say("error_unknown_integration", { id: this.id })
  }

  override get message(): string {
    return english(this.said)
  }
}

/** A delivery can't be sent again because its integration is disabled or deleted. */
export class NotDeliverable extends Schema.TaggedError<NotDeliverable>()("NotDeliverable", {
  why: Schema.Literals(["integration_disabled", "integration_deleted"])
}) {
  get said(): Sentence {
    return say(`error_${this.why}`)
  }

  override get message(): string {
    return english(this.said)
  }
}

/** Maximum number of deliveries, and of integrations without one, in the explanation of an event. */
const maxExplained = 1_000

/** Whether an integration got an event, or why not. */
export interface ExplainedDelivery {
  readonly integration_id: IntegrationId
  /** Null if the integration was deleted. */
  readonly integration: Integration | null
  readonly delivery: ListedDelivery | null
  /** The delivery's state, `right_lost`, or why there is no delivery. */
  readonly verdict: DeliveryState | "right_lost" | MissingVerdict
  readonly why: Sentences
}

/** What happened to an event. */
export interface ExplainedEvent {
  readonly event: Event | null
  /** Why the event is not stored; null if it is. */
  readonly missing: MissingDelivery | null
  readonly integrations: ReadonlyArray<ExplainedDelivery>
}

/** Maximum number of integrations whose deliveries one list merges. */
const maxSearched = 100

/** The search of a list of deliveries matches too many integrations. */
export class TooManyIntegrations extends Schema.TaggedError<TooManyIntegrations>()("TooManyIntegrations", {}) {
  get said(): Sentence {
    return say("error_too_many_integrations", { most: maxSearched })
  }

  override get message(): string {
    return english(this.said)
  }
}

/** A delivery with its event and all its attempts, oldest first. */
export interface DeliveryWithAttempts extends Delivery {
  readonly history: ReadonlyArray<Attempt>
  /** Null if something other than doorhook deleted the event's row. */
  readonly event: FoundDelivery["event"]
  /** Why the delivery ended or what it waits for, and what can be done. */
  readonly explanation: Explanation
}

/** The end of a call. */
export interface CallEnding {
  /** Why the ringing ended, as published, like `answered_elsewhere`; null if the data doesn't say. */
  readonly reason: string | null
  /** Time of publication, in milliseconds since the epoch. */
  readonly published_at: number
}

/** Maximum number of ends of calls among which the end of a call is looked for. */
const mostEnds = 100

const decodeReason = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ reason: Schema.String })))

export class Deliveries extends Context.Service<
  Deliveries,
  {
    readonly list: (filter: DeliveryFilter) => Effect.Effect<ReadonlyArray<ListedDelivery>, StoreError>
    /** Lists the deliveries of the integrations that a search matches. Deleted integrations match no search. */
    readonly search: (
      search: IntegrationSearch,
      filter: DeliveryFilter
    ) => Effect.Effect<ReadonlyArray<ListedDelivery>, TooManyIntegrations | StoreError>
    /** Returns one delivery with an explanation for the given reader, by default an operator. */
    readonly show: (
      id: DeliveryId,
      reader?: Reader
    ) => Effect.Effect<DeliveryWithAttempts, DeliveryNotFound | StoreError>
    /** Makes a delivery's next attempt due now. The delivery may be in any state. */
    readonly resend: (id: DeliveryId) => Effect.Effect<void, DeliveryNotFound | NotDeliverable | StoreError>
    /**
     * Resends an integration's deliveries that ended unacknowledged or wait for a retry and were created at `since`
     * (milliseconds since the epoch) or later. With `late` false, leaves out events whose lifetime is over. Returns the
     * number of resent deliveries.
     */
    readonly recover: (
      integration: IntegrationId,
      since: number,
      options?: { readonly late?: boolean }
    ) => Effect.Effect<number, IntegrationNotFound | NotDeliverable | StoreError>
    readonly summary: Effect.Effect<DeliverySummary, StoreError>
    /**
     * Explains for each integration that may get an event, or for one, whether it got the event and why not. Without
     * `integration`, the integrations of the event's building and tenants, at most `maxExplained`. The sentences are for
     * the given reader, by default an operator.
     */
    readonly explainEvent: (
      id: EventId,
      integration?: IntegrationId,
      reader?: Reader
    ) => Effect.Effect<ExplainedEvent, IntegrationNotFound | StoreError>
    /** Returns the published end of a call; null for other events, and for a call without one. */
    readonly endOfCall: (event: Event) => Effect.Effect<CallEnding | null, StoreError>
    /** Succeeds once the deliveries are idle (`isIdle`). Checks in real time, even if a test moves the clock. */
    readonly idle: (options?: { readonly retries?: boolean }) => Effect.Effect<void, StoreError>
  }
>()("@doorhook/core/delivery/Deliveries") {
  static readonly layer: Layer.Layer<
    Deliveries,
    never,
    DeliverySettings | DeliveryStore | IntegrationStore | WakeSignal
  > = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const store = yield* DeliveryStore
      const integrations = yield* IntegrationStore
      const wake = yield* WakeSignal
      const settings = yield* DeliverySettings
      const now = yield* storeTime

      const search = Effect.fnUntraced(function* (criteria: IntegrationSearch, filter: DeliveryFilter) {
        const found = yield* integrations.listAll({ ...criteria, after: 0, limit: maxSearched + 1 })
        if (found.length > maxSearched) return yield* new TooManyIntegrations()
        const lists = yield* Effect.forEach(found, (one) => {
          const { id } = isUnreadable(one) ? one : one.integration
          return (filter.integration_id ?? id) === id ? store.list({ ...filter, integration_id: id }) : none
        })
        return lists
          .flat()
          .toSorted((a, b) => (filter.order === "newest" ? b.id - a.id : a.id - b.id))
          .slice(0, filter.limit)
      })

      /** When the event's lifetime ended; null for an event without a lifetime. */
      const lifetimeEnd = (event: FoundDelivery["event"]): number | null =>
        event === null ? null : expiryOf(policyOf(settings.retry, event.resource_type), event.created_at)

      const show = Effect.fnUntraced(function* (id: DeliveryId, reader?: Reader) {
        const found = yield* store.find(id)
        if (found === null) return yield* new DeliveryNotFound({ id })
        const { attempts, delivery, event } = found
        const integration = yield* integrations.find(delivery.integration_id)
        const lifetime_over_at = delivery.state === "expired" ? lifetimeEnd(event) : null
        const is_late = lifetime_over_at === null || lifetime_over_at <= now()
        const last = attempts.at(-1) ?? null
        const explanation = explain({ delivery, last, integration, lifetime_over_at, is_late }, reader)
        return { ...delivery, event, history: attempts, explanation }
      })

      const resend = Effect.fnUntraced(function* (id: DeliveryId) {
        const resending = store.redeliver({ type: "delivery", id }, now())
        const result = yield* signalAfter(wake, resending, leavesWork)
        if (result._tag === "Redelivered") return
        return yield* result.why === "not_found"
          ? new DeliveryNotFound({ id })
          : new NotDeliverable({ why: deadEnd(result.why) })
      })

      const recover = Effect.fnUntraced(function* (
        id: IntegrationId,
        since: number,
        { late = true }: { readonly late?: boolean } = {}
      ) {
        const at = now()
        const since_of = late ? {} : unexpiredSince(settings.retry, at)
        const recovering = store.redeliver({ type: "integration", id, since, since_of }, at)
        const result = yield* signalAfter(wake, recovering, leavesWork)
        if (result._tag === "Redelivered") return result.count
        switch (result.why) {
          case "nothing_to_send":
            return 0
          case "integration_disabled":
            return yield* new NotDeliverable({ why: result.why })
          default:
            return yield* new IntegrationNotFound({ id })
        }
      })

      const summary = Effect.suspend(() => store.summary(now()))

      /** Explains one integration's delivery of an event; `delivery` is null if there is none. */
      const explainFor = Effect.fnUntraced(function* (
        event: Event,
        integration: Integration | null,
        delivery: ListedDelivery | null,
        reader?: Reader
      ): Effect.fn.Return<ReadonlyArray<ExplainedDelivery>, StoreError> {
        if (delivery === null) {
          if (integration === null) return []
          const { verdict, why } = explainMissing(event, integration)
          return [{ integration_id: integration.id, integration, delivery, verdict, why: [why] }]
        }
        const shown = yield* Effect.option(
          Effect.catchTag(show(delivery.id, reader), "DeliveryNotFound", () => Effect.fail(null))
        )
        const why = Option.match(shown, { onNone: () => [], onSome: ({ explanation }) => explanation.why })
        const verdict = delivery.reason === "right_lost" ? "right_lost" : delivery.state
        return [{ integration_id: delivery.integration_id, integration, delivery, verdict, why }]
      })

      const explainEvent = Effect.fnUntraced(function* (
        id: EventId,
        only?: IntegrationId,
        reader?: Reader
      ): Effect.fn.Return<ExplainedEvent, IntegrationNotFound | StoreError> {
        const chosen = only === undefined ? null : yield* integrations.find(only)
        const event = yield* store.findEvent(id)
        if (event === null) {
          const missing = explainUnknownEvent(id, now(), settings.retention)
          return { event, missing, integrations: [] }
        }
        const ofIntegration = only === undefined ? {} : { integration_id: only }
        const sent = yield* store.list({ event_id: id, limit: maxExplained, ...ofIntegration })
        if (only !== undefined && chosen === null && sent.length === 0)
          return yield* new IntegrationNotFound({ id: only })
        const near =
          only === undefined
            ? yield* integrations.findByScopes({ buildings: [event.building_id], tenants: event.tenant_ids })
            : chosen === null
              ? []
              : [chosen]
        const readable = near.filter((one): one is Integration => !isUnreadable(one))
        const byId = new Map(readable.map((one) => [one.id, one]))
        const withDelivery = yield* Effect.forEach(sent, (one) =>
          explainFor(event, byId.get(one.integration_id) ?? null, one, reader)
        )
        const got = new Set(sent.map(({ integration_id }) => integration_id))
        const without = yield* Effect.forEach(
          readable.filter((one) => !got.has(one.id)).slice(0, maxExplained),
          (one) => explainFor(event, one, null)
        )
        return { event, missing: null, integrations: [...withDelivery, ...without].flat() }
      })

      const endOfCall = Effect.fnUntraced(function* (event: Event) {
        const call = callMarkOf(event)
        if (call === null || call.isEnd) return null
        const { items } = yield* store.events({
          scope: { type: "building", id: event.building_id },
          resource_type: callEndType,
          since: event.created_at - callLifetime,
          until: event.created_at + callLifetime,
          offset: 0,
          limit: mostEnds,
          countUpTo: mostEnds
        })
        // The first one has stopped the ringing.
        const end = items.findLast((one) => {
          const mark = callMarkOf(one)
          return mark !== null && areOfOneCall({ ...event, call }, { ...one, call: mark })
        })
        if (end === undefined) return null
        const { reason } = Option.getOrElse(decodeReason(end.data), () => ({ reason: null }))
        return { reason, published_at: end.created_at }
      })

      const idle = Effect.fnUntraced(function* ({ retries = false }: { readonly retries?: boolean } = {}) {
        for (let wait = 1; !isIdle(yield* summary, retries); wait = Math.min(2 * wait, longestIdleWait)) {
          yield* realSleep(wait)
        }
      })

      return Deliveries.of({ list: store.list, search, show, resend, recover, summary, explainEvent, endOfCall, idle })
    })
  )
}

/**
 * Whether no delivery is due or being sent. Retries that wait for a later time count only with `retries`. First attempts
 * always count: they wait only while the directory or the sender does not work.
 */
export const isIdle = ({ oldest_due_at, states }: DeliverySummary, retries: boolean): boolean =>
  oldest_due_at === null && states.pending + states.delivering === 0 && (!retries || states.retrying === 0)

/** Longest time between two checks for idleness, in milliseconds. */
const longestIdleWait = 64

/** Sleeps in real time, in milliseconds. */
const realSleep = (millis: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

const none = Effect.succeed<ReadonlyArray<ListedDelivery>>([])

/** Whether the call made deliveries due. */
const leavesWork = (result: RedeliverResult): boolean => result._tag === "Redelivered" && result.count > 0

/** Why the deliveries of an integration can't be sent. */
const deadEnd = (why: Extract<RedeliverResult, { _tag: "Refused" }>["why"]): NotDeliverable["why"] =>
  why === "integration_deleted" ? why : "integration_disabled"
