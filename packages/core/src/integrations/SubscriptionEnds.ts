/**
 * Ends subscriptions of MCP clients: those that were not refreshed, whose grant was revoked, or whose user has lost the
 * right. Between two rounds, `delivery/Sender` refuses their deliveries. A process that does not deliver ends none.
 */
import { Effect, Layer } from "effect"
import { Hex } from "effect/encoding"
import { secretsOf } from "../delivery/DeliveryPolicy.ts"
import { DeliverySettings } from "../delivery/DeliverySettings.ts"
import { Dispatcher } from "../delivery/Dispatcher.ts"
import { runForever } from "../delivery/Loops.ts"
import type { SubscribedIntegration } from "../model/Integration.ts"
import { accessRevoked, hasExpired } from "../model/Subscription.ts"
import { Crypto } from "../ports/Crypto.ts"
import { Directory, mayAccess } from "../ports/Directory.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { SubscriptionPlace } from "../ports/IntegrationStore.ts"
import { storeTime } from "../ports/StoreClock.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import { Transport } from "../ports/Transport.ts"
import { controlHeaders } from "./Subscriptions.ts"

/** Pause between two rounds, in milliseconds. */
const interval = 60_000

/** The directory is asked in one of this many rounds whether the users still have the right. */
const rightsEvery = 10

/** Number of subscriptions per read. */
const pageSize = 100

/** Number of receivers that are informed at once. */
const informedAtOnce = 8

/** Makes a function that ends subscriptions, in one round. It returns how many it ended. */
export const makeEndSubscriptions = Effect.gen(function* () {
  const crypto = yield* Crypto
  const directory = yield* Directory
  const dispatcher = yield* Dispatcher
  const settings = yield* DeliverySettings
  const store = yield* IntegrationStore
  const tokens = yield* TokenStore
  const transport = yield* Transport
  const now = yield* storeTime

  /** Informs the receiver, once (section "Subscription Termination"). The subscription is gone in any case. */
  const inform = Effect.fnUntraced(function* (ended: SubscribedIntegration) {
    const { configuration, created_by, subscription } = ended
    const body = JSON.stringify({ type: "terminated", error: accessRevoked })
    const id = `msg_terminated_${Hex.encode(crypto.randomBytes(16))}`
    const message = { id, signedAt: now(), body, subscription: subscription.id }
    const headers = yield* controlHeaders(crypto, message, secretsOf(ended, now()))
    const { ackTimeout: deadline, allow } = settings
    yield* transport.post({ url: configuration.url, headers, body, deadline, allow, client: created_by.client_id })
  })

  /** Returns why a subscription ends; null if it goes on. */
  const endOf = Effect.fnUntraced(function* (
    { created_by, scope, subscription }: SubscribedIntegration,
    asksDirectory: boolean
  ) {
    if (hasExpired(subscription, now())) return "expired"
    const grant = yield* tokens.findGrant(subscription.grant_id)
    // A grant that is purged without having been revoked has no tokens left; the user's right is checked anyway.
    if (grant !== null && grant.revoked_at !== null) return "revoked"
    return !asksDirectory || (yield* mayAccess(directory, created_by.user_id, scope)) ? null : "revoked"
  })

  const endOne = Effect.fnUntraced(
    function* (one: SubscribedIntegration, asksDirectory: boolean) {
      const why = yield* endOf(one, asksDirectory)
      // Of several processes, one removes it. A refresh in between prevents it.
      if (why === null || !(yield* store.remove(one))) return 0
      yield* dispatcher.forget(one.id)
      if (why === "revoked") {
        yield* inform(one).pipe(
          Effect.catchTag(["TransportUnavailable", "TransportBusy"], ({ message }) => Effect.logDebug(message))
        )
      }
      return 1
    },
    Effect.catchTag(["DirectoryError", "StoreError"], ({ message }) =>
      Effect.as(Effect.logWarning(`A subscription could not be checked: ${message}`), 0)
    )
  )

  return Effect.fnUntraced(function* (asksDirectory: boolean) {
    let ended = 0
    for (let after: SubscriptionPlace | null = { grant_id: "", id: 0 }; after !== null;) {
      const page: Effect.Success<ReturnType<typeof store.subscriptions>> = yield* store.subscriptions(after, pageSize)
      const counts = yield* Effect.forEach(page.items, (one) => endOne(one, asksDirectory), {
        concurrency: informedAtOnce
      })
      ended += counts.reduce((sum, count) => sum + count, 0)
      after = page.next
    }
    return ended
  })
})

/** Runs until the scope closes. */
export const layer: Layer.Layer<
  never,
  never,
  Crypto | DeliverySettings | Directory | Dispatcher | IntegrationStore | TokenStore | Transport
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const dispatcher = yield* Dispatcher
    const end = yield* makeEndSubscriptions
    let rounds = 0
    const round = Effect.gen(function* () {
      yield* Effect.sleep(interval)
      const { is_member } = yield* dispatcher.status
      if (is_member) yield* end(++rounds % rightsEvery === 0)
    }).pipe(Effect.catchTag("StoreError", ({ message }) => Effect.logWarning(message)))
    yield* Effect.forkScoped(runForever("Ending subscriptions", round, interval))
  })
)
