/**
 * Subscriptions of MCP clients by signed webhook (SEP-3415, section "Webhook-Based Delivery"). A subscription is an
 * integration with the secret of its client and an end. It is identified by its owner and by what was subscribed to, so
 * subscribing again refreshes it.
 */
import { Context, Effect, Layer, Redacted, Result, Schema, Semaphore } from "effect"
import { Hex } from "effect/encoding"
import { IntegrationNotFound } from "../delivery/Deliveries.ts"
import { rotated } from "../delivery/DeliveryPolicy.ts"
import { headersOf } from "../delivery/DeliveryRequest.ts"
import { DeliverySettings } from "../delivery/DeliverySettings.ts"
import { Dispatcher } from "../delivery/Dispatcher.ts"
import { signalAfter } from "../delivery/SignalAfter.ts"
import type { AttemptOutcome } from "../model/Delivery.ts"
import { activeStates } from "../model/Delivery.ts"
import type { NotServed } from "../model/BuildingMoves.ts"
import { Absence } from "../model/BuildingMoves.ts"
import type { ClientId, GrantId, IntegrationId, UserId } from "../model/Ids.ts"
import type { Integration, Scope, SigningSecret, SubscribedIntegration } from "../model/Integration.ts"
import { isSubscribed } from "../model/Integration.ts"
import type { InvalidInput } from "../model/InvalidInput.ts"
import { makeMinuteCounter } from "../model/MinuteCounter.ts"
import { RecentMap } from "../model/RecentMap.ts"
import type { Action, ResourceType } from "../model/ResourceType.ts"
import { eventNameOf, hasExpired, lifetimeFor } from "../model/Subscription.ts"
import type { Subscription } from "../model/Subscription.ts"
import { hostOf } from "../model/UrlPolicy.ts"
import { constantTimeEqualTexts, Crypto } from "../ports/Crypto.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { LimitReached, SubscriptionPlace } from "../ports/IntegrationStore.ts"
import type { NameResolver } from "../ports/NameResolver.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { TransportBusy, TransportUnavailable } from "../ports/Transport.ts"
import { Transport } from "../ports/Transport.ts"
import { WakeSignal } from "../ports/WakeSignal.ts"
import type { Feed, FeedCursor } from "./Feeds.ts"
import { Feeds, formatCursor, parseCursor } from "./Feeds.ts"
import { changeStored, removeStored } from "./IntegrationChanges.ts"
import { integrationType, readAttributes } from "./IntegrationDocument.ts"
import type { ScopeNotFound } from "./Integrations.ts"
import { Integrations, makeInputReader } from "./Integrations.ts"

/** The user, client and grant that a call acts for. */
export interface Subscriber {
  readonly user_id: UserId
  readonly client_id: ClientId
  readonly grant_id: GrantId
}

/** The events of one kind of a building or tenant. */
export interface EventSource {
  readonly scope: Scope
  readonly resource_type: ResourceType
  readonly action: Action
}

/** Where to continue: after the given cursor, but not with older events than `maxAge` milliseconds; null: from now on. */
export interface Continuation {
  readonly cursor: FeedCursor | null
  readonly maxAge?: number | undefined
}

/** Where a reader continues, and whether it misses events because of that. */
export interface Continued {
  readonly cursor: FeedCursor
  readonly truncated: boolean
}

/** What a subscription is identified by, besides its owner. */
export interface SubscriptionKey extends EventSource {
  readonly url: string
}

export interface SubscriptionRequest extends SubscriptionKey, Continuation {
  readonly secret: SigningSecret
  /** The suggested lifetime in milliseconds; null for no end. */
  readonly lifetime?: number | null | undefined
}

/** Why a receiver could not be reached, or did not accept (section "Webhook delivery status"). */
const EndpointProblem = Schema.Literals([
  "connection_refused",
  "timeout",
  "tls_error",
  "http_4xx",
  "http_5xx",
  "challenge_failed"
])
type EndpointProblem = typeof EndpointProblem.Type

/** Returns the category of a failed request. It says nothing else about the answer, which is a third party's. */
const endpointProblemOf = (outcome: AttemptOutcome, status: number | null): EndpointProblem => {
  if (outcome === "bad_status") return status !== null && status >= 500 ? "http_5xx" : "http_4xx"
  if (outcome === "timeout") return "timeout"
  return outcome === "tls" ? "tls_error" : "connection_refused"
}

/** How deliveries went before a refresh. Times are in milliseconds since the epoch. */
export interface SubscriptionStatus {
  readonly active: boolean
  readonly last_delivery_at: number | null
  readonly last_error: EndpointProblem | null
  readonly failing_since: number | null
}

export interface Subscribed extends Pick<Subscription, "id" | "expires_at" | "cursor"> {
  readonly truncated: boolean
  /** Null for a new subscription. */
  readonly status: SubscriptionStatus | null
}

/** The receiver can't be reached, or did not return the challenge. */
export class EndpointRefused extends Schema.TaggedError<EndpointRefused>()("EndpointRefused", {
  reason: EndpointProblem
}) {
  override get message(): string {
    return this.reason === "challenge_failed"
      ? 'The receiver did not answer the verification with a status 2xx and {"challenge": ...}, as receivers that expect events do.'
      : `The receiver could not be reached (${this.reason}).`
  }
}

/** There are too many subscriptions of the grant, or of its user and client in a scope; or its client or the receiver's host has too many verifications. */
export class TooManySubscriptions extends Schema.TaggedError<TooManySubscriptions>()("TooManySubscriptions", {
  limit: Schema.Literals(["subscriptions", "subscriptionsPerScope", "verifications"]),
  max: Schema.Int
}) {
  override get message(): string {
    if (this.limit === "verifications")
      return `At most ${this.max} receivers are verified per minute. Try again in a minute.`
    const what = this.limit === "subscriptions" ? "subscriptions" : "subscriptions of one building or tenant"
    return `One authorization may have at most ${this.max} ${what}. End one with events/unsubscribe, or let it expire.`
  }
}

/** Nothing is subscribed to in this way. */
export class SubscriptionNotFound extends Schema.TaggedError<SubscriptionNotFound>()("SubscriptionNotFound", {}) {
  override get message(): string {
    return "You have no such subscription. It may have expired."
  }
}

/** Maximum number of subscriptions of a grant. */
export const subscriptionsPerGrant = 100

/** Maximum number of subscriptions of a building or tenant that a client has for one user. */
export const subscriptionsPerScope = 20

/** Maximum number of verifications per minute, for a receiver's host and for a client of a user. */
export const verificationsPerMinute = 30

/** Number of integrations or events per read. */
const pageSize = 100

/** Largest number of pages of events that one call reads to find out whether events were skipped. */
const checkedPages = 10

/**
 * How much earlier than the oldest open delivery an event may have been published that is stored before it, in
 * milliseconds, because publications overlap.
 */
const overlap = 60_000

type SubscribeError =
  | ScopeNotFound
  | NotServed
  | InvalidInput
  | LimitReached
  | TooManySubscriptions
  | EndpointRefused
  | TransportUnavailable
  | TransportBusy
  | StoreError
  | DirectoryError

export class Subscriptions extends Context.Service<
  Subscriptions,
  {
    /** Finds where a reader of a feed continues. Checks no right. */
    readonly locate: (
      subscriber: Subscriber,
      source: EventSource,
      continuation: Continuation
    ) => Effect.Effect<Continued, StoreError>
    /**
     * Subscribes, or refreshes the subscription. A receiver that this client has not used for this user is verified
     * before: it must return a challenge. Events before a new subscription are not delivered; if the client's cursor is
     * behind some, `truncated` says so.
     */
    readonly subscribe: (
      subscriber: Subscriber,
      request: SubscriptionRequest
    ) => Effect.Effect<Subscribed, SubscribeError>
    /** Ends a subscription. Needs no right to the building or tenant, because it may have been lost. */
    readonly unsubscribe: (
      subscriber: Subscriber,
      key: SubscriptionKey
    ) => Effect.Effect<void, SubscriptionNotFound | NotServed | StoreError>
  }
>()("@doorhook/core/integrations/Subscriptions") {
  static readonly layer: Layer.Layer<
    Subscriptions,
    never,
    | Crypto
    | DeliverySettings
    | DeliveryStore
    | Directory
    | Dispatcher
    | Feeds
    | Integrations
    | IntegrationStore
    | NameResolver
    | Transport
    | WakeSignal
  > = Layer.effect(
    Subscriptions,
    Effect.gen(function* () {
      const crypto = yield* Crypto
      const deliveries = yield* DeliveryStore
      const dispatcher = yield* Dispatcher
      const feeds = yield* Feeds
      const integrations = yield* Integrations
      const store = yield* IntegrationStore
      const wake = yield* WakeSignal
      const now = yield* storeTime
      const changing = { store, dispatcher, absence: yield* Absence, now }
      const readInput = yield* makeInputReader
      const verify = yield* makeVerify
      const locate = makeLocate(feeds, now)
      const watermarkOf = makeWatermark(deliveries)
      const turns = new Turns()

      /** Returns the owner's subscriptions of a scope. An id occurs once, unless two processes subscribed at once. */
      const findOwn = Effect.fnUntraced(function* ({ client_id, user_id }: Subscriber, scope: Scope) {
        const found: Array<SubscribedIntegration> = []
        for (let offset = 0; ; offset += pageSize) {
          const { items } = yield* store.list(scope, { offset, limit: pageSize, client_id })
          found.push(...items.filter(isSubscribed).filter(({ created_by }) => created_by.user_id === user_id))
          if (items.length < pageSize) return found
        }
      })

      const findAll = (subscriber: Subscriber, scope: Scope, id: string) =>
        Effect.map(findOwn(subscriber, scope), (own) => own.filter(({ subscription }) => subscription.id === id))

      const remove = (id: IntegrationId) =>
        removeStored(changing, () =>
          Effect.flatMap(store.findRef(id), (found) =>
            found === null ? Effect.fail(new IntegrationNotFound({ id })) : Effect.succeed(found)
          )
        ).pipe(Effect.catchTag("IntegrationNotFound", () => Effect.void))

      const checkLimits = Effect.fnUntraced(function* (subscriber: Subscriber, scope: Scope) {
        const { grant_id } = subscriber
        const after: SubscriptionPlace = { grant_id, id: 0 }
        const { items } = yield* store.subscriptions(after, subscriptionsPerGrant)
        const own = items.filter(({ subscription }) => subscription.grant_id === grant_id)
        if (own.length >= subscriptionsPerGrant)
          return yield* new TooManySubscriptions({ limit: "subscriptions", max: subscriptionsPerGrant })
        if ((yield* findOwn(subscriber, scope)).length >= subscriptionsPerScope)
          return yield* new TooManySubscriptions({ limit: "subscriptionsPerScope", max: subscriptionsPerScope })
      })

      const begin = Effect.fnUntraced(function* (subscriber: Subscriber, id: string, request: SubscriptionRequest) {
        const { action, resource_type, scope, secret, url } = request
        yield* checkLimits(subscriber, scope)
        const attributes = {
          integrator: "webhook",
          configuration: { url, method: "post" },
          bindings: [{ resource_type, actions: [action] }],
          name: `MCP: ${eventNameOf(request)}`.slice(0, 80)
        }
        const document = { data: { type: integrationType, attributes } }
        yield* readInput(subscriber, document, null, readAttributes)
        yield* verify(subscriber, id, request)
        // Read before, so that an event after it is delivered or counts as missed.
        const { cursor } = yield* locate(subscriber, request, { cursor: null })
        const subscription: Subscription = {
          id,
          name: eventNameOf(request),
          grant_id: subscriber.grant_id,
          expires_at: now() + lifetimeFor(request.lifetime),
          cursor: formatCursor(feedOf(scope), cursor)
        }
        const given = { signing_secret: secret, subscription }
        yield* integrations.create(subscriber, scope, document, null, given)
        const { truncated } =
          request.cursor === null ? { truncated: false } : yield* missedSince(subscriber, request, request.cursor)
        return { ...subscription, truncated, status: null }
      })

      /** Whether events after a cursor are stored, which a new subscription does not deliver. */
      const missedSince = Effect.fnUntraced(function* (
        subscriber: Subscriber,
        request: SubscriptionRequest,
        cursor: FeedCursor
      ) {
        const from = yield* locate(subscriber, request, { cursor, maxAge: request.maxAge })
        const missed = yield* isAnyAfter(feeds, subscriber, request, from.cursor)
        return { truncated: from.truncated || missed }
      })

      const refresh = Effect.fnUntraced(function* (
        subscriber: Subscriber,
        found: SubscribedIntegration,
        request: SubscriptionRequest
      ) {
        const status = yield* statusOf(found)
        const feed = feedOf(request.scope)
        const cursor = formatCursor(feed, yield* watermarkOf(feed, found))
        const { secret } = request
        const find = () =>
          Effect.flatMap(store.find(found.id), (current) =>
            current === null ? Effect.fail(new IntegrationNotFound({ id: found.id })) : Effect.succeed(current)
          )
        const expires_at = now() + lifetimeFor(request.lifetime)
        const subscription = { ...found.subscription, grant_id: subscriber.grant_id, expires_at, cursor }
        const changed = yield* changeStored(changing, find, (current, at) => ({
          ...current,
          ...(Redacted.value(secret) !== Redacted.value(current.signing_secret) && rotated(current, secret, at)),
          ...(isSuspended(current) && ({ status: "enabled", disabled_reason: null } as const)),
          subscription
        }))
        if (isSuspended(found) && changed.status === "enabled") {
          const { created_at: since, id } = found
          const redelivering = deliveries.redeliver({ type: "integration", id, since }, now())
          yield* signalAfter(wake, redelivering, ({ _tag }) => _tag === "Redelivered")
        }
        return { ...subscription, truncated: false, status }
      })

      const statusOf = Effect.fnUntraced(function* ({ id, status }: Integration) {
        const newest = { integration_id: id, order: "newest", limit: 1 } as const
        const [delivered] = yield* deliveries.list({ ...newest, states: ["delivered"] })
        const [failed] = yield* deliveries.list({
          ...newest,
          states: ["retrying", "exhausted", "expired", "cancelled"]
        })
        const [good, bad] = [delivered?.last_attempt ?? null, failed?.last_attempt ?? null]
        const isFailing = bad !== null && bad.outcome !== "acknowledged" && bad.started_at > (good?.started_at ?? 0)
        const health = yield* store.findWithHealth(id)
        return {
          active: status === "enabled",
          last_delivery_at: good?.started_at ?? null,
          last_error: isFailing ? endpointProblemOf(bad.outcome, bad.status) : null,
          failing_since: health?.failing?.since ?? null
        }
      })

      const idOf = Effect.fnUntraced(function* ({ client_id, user_id }: Subscriber, key: SubscriptionKey) {
        const { id, type } = key.scope
        const text = JSON.stringify([user_id, client_id, key.url, eventNameOf(key), type, id])
        const hash = yield* crypto.sha256(new TextEncoder().encode(text))
        return `sub_${Hex.encode(hash.subarray(0, 16))}`
      })

      const subscribe: Subscriptions["Service"]["subscribe"] = Effect.fnUntraced(function* (subscriber, request) {
        yield* feeds.authorize(subscriber, feedOf(request.scope)).pipe(
          // A feed without an integration has none to miss.
          Effect.catchTag("IntegrationNotFound", Effect.die)
        )
        const id = yield* idOf(subscriber, request)
        const inTurn = Effect.gen(function* () {
          const all = yield* findAll(subscriber, request.scope, id)
          const live = all.filter(({ subscription }) => !hasExpired(subscription, now()))
          const [found] = live
          yield* Effect.forEach(all, (each) => (each === found ? Effect.void : remove(each.id)))
          const renewed = found === undefined ? null : yield* missing(refresh(subscriber, found, request))
          return renewed ?? (yield* begin(subscriber, id, request))
        })
        return yield* turns
          .take(ownerOf(subscriber), inTurn)
          .pipe(Effect.catchTag(["DocumentMismatch", "IntegrationNotFound", "KeyInUse", "KeyReused"], Effect.die))
      })

      const unsubscribe: Subscriptions["Service"]["unsubscribe"] = Effect.fnUntraced(function* (subscriber, key) {
        const id = yield* idOf(subscriber, key)
        const inTurn = Effect.gen(function* () {
          const all = yield* findAll(subscriber, key.scope, id)
          yield* Effect.forEach(all, (each) => remove(each.id))
          const wasLive = all.some(({ subscription }) => !hasExpired(subscription, now()))
          if (!wasLive) return yield* new SubscriptionNotFound()
        })
        yield* turns.take(ownerOf(subscriber), inTurn)
      })

      return Subscriptions.of({ locate, subscribe, unsubscribe })
    })
  )
}

const feedOf = (scope: Scope): Feed => ({ scope, integration: null })

const ownerOf = ({ client_id, user_id }: Subscriber): string => JSON.stringify([user_id, client_id])

/** Whether doorhook disabled the integration, and not a person. */
const isSuspended = ({ disabled_reason, status }: Integration): boolean =>
  status === "disabled" && disabled_reason !== "manual"

/** Null if the integration was deleted in between. */
const missing = <A, E, R>(change: Effect.Effect<A, E | IntegrationNotFound, R>) =>
  Effect.catchTag(change, "IntegrationNotFound", () => Effect.succeed(null))

/** Lets the calls of one owner wait for each other, in this process. */
class Turns {
  readonly #waiting = new Map<string, { readonly semaphore: Semaphore.Semaphore; count: number }>()

  take<A, E, R>(key: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const entry = this.#waiting.get(key) ?? { semaphore: Semaphore.makeUnsafe(1), count: 0 }
        entry.count++
        this.#waiting.set(key, entry)
        return entry
      }),
      ({ semaphore }) => semaphore.withPermit(work),
      (entry) => Effect.sync(() => --entry.count === 0 && this.#waiting.delete(key))
    )
  }
}

/** Whether events after a cursor are stored. After `checkedPages` of events of other actions, the answer is yes. */
const isAnyAfter = (
  feeds: Feeds["Service"],
  subscriber: Subscriber,
  { action, resource_type, scope }: EventSource,
  cursor: FeedCursor,
  upTo = Number.POSITIVE_INFINITY
): Effect.Effect<boolean, StoreError> =>
  Effect.gen(function* () {
    let at = cursor
    for (let pages = 0; pages < checkedPages; pages++) {
      const page = yield* feeds.readAfter(subscriber, feedOf(scope), at, { limit: pageSize, types: [resource_type] })
      if (page.items.some(({ event, position }) => event.action === action && position <= upTo)) return true
      at = page.cursor
      if (!page.more || at.position >= upTo) return false
    }
    return true
  })

const makeLocate =
  (feeds: Feeds["Service"], now: () => number): Subscriptions["Service"]["locate"] =>
  (subscriber, source, { cursor, maxAge }) =>
    Effect.gen(function* () {
      const feed = feedOf(source.scope)
      const types = [source.resource_type]
      if (cursor === null) return { cursor: (yield* feeds.locate(feed, "next")).cursor, truncated: false }
      const found = yield* feeds.locate(feed, { after: cursor }, types)
      const given = { cursor: found.cursor, truncated: found.gap !== null }
      if (maxAge === undefined) return given
      const floor = (yield* feeds.locate(feed, { since: now() - maxAge }, types)).cursor
      if (floor.position <= given.cursor.position) return given
      const skips = yield* isAnyAfter(feeds, subscriber, source, given.cursor, floor.position)
      return { cursor: { ...floor, reported: given.cursor.reported }, truncated: given.truncated || skips }
    }).pipe(
      // The database was restored from a backup. The reader continues with what is there.
      Effect.catchTag("CursorBeyondEnd", () =>
        Effect.map(feeds.locate(feedOf(source.scope), "next"), (end) => ({ cursor: end.cursor, truncated: true }))
      ),
      Effect.catchTag("CursorBeyondEnd", Effect.die)
    )

/**
 * Makes a function that returns the position up to which everything of a subscription was acknowledged or given up
 * (section "Webhook event delivery").
 */
const makeWatermark = (deliveries: DeliveryStore["Service"]) =>
  Effect.fnUntraced(function* (feed: Feed, { id, subscription }: SubscribedIntegration) {
    const stored = parseCursor(feed, subscription.cursor)
    const last = stored._tag === "Some" ? stored.value : { position: 0, at: 0, reported: 0 }
    const { events } = yield* deliveries.feedEnds
    const [oldest] = yield* deliveries.list({ states: activeStates, integration_id: id, order: "oldest", limit: 1 })
    if (oldest === undefined) return { ...last, position: Math.max(last.position, events.complete) }
    const since = oldest.created_at - overlap
    const first = yield* deliveries.feedPlace({ source: feed.scope, after: last.position, since })
    return first === null ? last : { ...last, position: Math.max(last.position, first.position - 1) }
  })

const Echo = Schema.fromJsonString(Schema.Struct({ challenge: Schema.String }))
const decodeEcho = Schema.decodeUnknownResult(Echo)

/** How long a verified receiver counts as verified in this process, in milliseconds. */
const verifiedFor = 24 * 3_600_000

/**
 * Makes the verification of receivers (section "Webhook security", "Endpoint verification"): a receiver must return a
 * random text, so that nobody can direct events to a server that does not expect them.
 */
const makeVerify = Effect.gen(function* () {
  const crypto = yield* Crypto
  const { ackTimeout, allow } = yield* DeliverySettings
  const transport = yield* Transport
  const now = yield* storeTime
  const verified = new RecentMap<string, number>(10_000)
  const countOf = makeMinuteCounter()
  const random = () => Hex.encode(crypto.randomBytes(16))

  return Effect.fnUntraced(function* (subscriber: Subscriber, id: string, { secret, url }: SubscriptionRequest) {
    const key = JSON.stringify([ownerOf(subscriber), url])
    const at = now()
    if ((verified.get(key) ?? 0) > at) return
    const host = URL.parse(url)
    const counts = [countOf(ownerOf(subscriber), at), countOf(host === null ? url : hostOf(host), at)]
    if (counts.some(({ count }) => count > verificationsPerMinute))
      return yield* new TooManySubscriptions({ limit: "verifications", max: verificationsPerMinute })
    const challenge = random()
    const body = JSON.stringify({ type: "verification", challenge })
    const envelope = { id: `msg_verification_${random()}`, signedAt: at, body, subscription: id }
    const headers = yield* controlHeaders(crypto, envelope, [secret])
    const result = yield* transport.post({
      url,
      headers,
      body,
      deadline: ackTimeout,
      allow,
      client: subscriber.client_id
    })
    if (result._tag === "Failed") return yield* new EndpointRefused({ reason: endpointProblemOf(result.outcome, null) })
    const echo = Result.getOrNull(decodeEcho(result.excerpt))
    const isEcho =
      result.status >= 200 && result.status <= 299 && echo !== null && constantTimeEqualTexts(echo.challenge, challenge)
    if (!isEcho) return yield* new EndpointRefused({ reason: "challenge_failed" })
    verified.set(key, at + verifiedFor)
  })
})

/** Returns the headers of a message that is no event (section "Non-event webhook bodies"). */
export const controlHeaders = (
  crypto: Crypto["Service"],
  message: { readonly id: string; readonly signedAt: number; readonly body: string; readonly subscription: string },
  secrets: ReadonlyArray<SigningSecret>
) => headersOf(crypto, { ...message, attempt: 1, expiresAt: null, isReplay: false }, secrets)
