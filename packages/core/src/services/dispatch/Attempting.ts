/**
 * One attempt of one delivery: may it be made, what is sent, and what follows from the answer.
 */
import { Clock, Effect, Random } from "effect"
import type { Attempt, LeasedDelivery } from "../../domain/Delivery.ts"
import { maxExcerptLength } from "../../domain/Delivery.ts"
import { bodyOf } from "../../domain/Event.ts"
import { Crypto } from "../../ports/Crypto.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import { Directory, DirectoryError, mayAccess } from "../../ports/Directory.ts"
import type { TransportResult } from "../../ports/Transport.ts"
import { Transport } from "../../ports/Transport.ts"
import { judge } from "../../rules/Acknowledgement.ts"
import { headersOf } from "../../rules/DeliveryRequest.ts"
import { isExpired, parseRetryAfter } from "../../rules/RetryPolicy.ts"
import { settleAttempt, settleExpired, settleRightLost } from "../../rules/Settling.ts"
import { DeliverySettings, settleBudget } from "../DeliverySettings.ts"

/**
 * Makes the attempt and says how to settle the delivery. Fails, with nothing sent and nothing to settle, when the
 * directory can't say whether the receiver may still see the event, or not while the lease lasts.
 */
export type MakeAttempt = (delivery: LeasedDelivery) => Effect.Effect<Settlement, DirectoryError>

/** Builds the function that makes attempts, from the services it needs. */
export const makeAttempting: Effect.Effect<MakeAttempt, never, DeliverySettings | Directory | Transport | Crypto> =
  Effect.gen(function* () {
    const settings = yield* DeliverySettings
    const directory = yield* Directory
    const transport = yield* Transport
    const crypto = yield* Crypto

    return Effect.fnUntraced(function* (delivery: LeasedDelivery) {
      const { event, integration } = delivery
      const policy = settings.retry[event.resource_type]
      // Whoever asks for a resend knows the event's age.
      const isLate = (now: number) => delivery.resend !== true && isExpired(policy, event.created_at, now)
      if (isLate(yield* Clock.currentTimeMillis)) return settleExpired(delivery)
      if (!(yield* mayAccess(directory, integration.created_by.user_id, integration.scope))) {
        return settleRightLost(delivery)
      }
      // The directory may have taken its time.
      const startedAt = yield* Clock.currentTimeMillis
      if (isLate(startedAt)) return settleExpired(delivery)
      if (delivery.lease.until < startedAt + settings.ackTimeout + settleBudget) {
        return yield* new DirectoryError({ operation: "mayAccess", cause: new Error("It answered too late.") })
      }
      const body = bodyOf(event)
      const result = yield* transport.post({
        url: integration.configuration.url,
        headers: yield* headersOf(
          { id: event.id, attempt: delivery.attempts + 1, signedAt: startedAt, body },
          settings.sign ? [integration.signing_secret] : []
        ).pipe(Effect.provideService(Crypto, crypto)),
        body,
        deadline: settings.ackTimeout,
        allow: settings.allow
      })
      const now = yield* Clock.currentTimeMillis
      return settleAttempt(delivery, attemptOf(delivery, startedAt, result, settings.ackTimeout), policy, {
        now,
        random: yield* Random.next,
        retryAfter: result._tag === "Answered" ? parseRetryAfter(result.retry_after, now) : null
      })
    })
  })

const attemptOf = (
  delivery: LeasedDelivery,
  startedAt: number,
  result: TransportResult,
  deadline: number
): Attempt => ({
  number: delivery.attempts + 1,
  started_at: startedAt,
  duration_ms: Math.round(result.elapsed),
  outcome: judge(result, deadline, "200"),
  status: result._tag === "Answered" ? result.status : null,
  response_excerpt: result._tag === "Answered" ? result.excerpt.slice(0, maxExcerptLength) : null,
  detail: result._tag === "Failed" ? result.detail : null
})
