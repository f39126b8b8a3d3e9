/**
 * One attempt of one delivery: may it be made, what is sent, and what follows from the answer.
 */
import { Clock, Effect, Random } from "effect"
import type { Attempt, LeasedDelivery } from "../../domain/Delivery.ts"
import { maxExcerptLength } from "../../domain/Delivery.ts"
import { bodyOf } from "../../domain/Event.ts"
import type { UserId } from "../../domain/Ids.ts"
import type { Scope } from "../../domain/Integration.ts"
import { Crypto } from "../../ports/Crypto.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import { Directory, DirectoryError, mayAccess } from "../../ports/Directory.ts"
import type { TransportResult, TransportUnavailable } from "../../ports/Transport.ts"
import { Transport } from "../../ports/Transport.ts"
import { judge } from "../../rules/Acknowledgement.ts"
import { acknowledgementOf, allowOf, retryOf, secretsOf } from "../../rules/DeliveryPolicy.ts"
import { headersOf } from "../../rules/DeliveryRequest.ts"
import { isExpired, parseRetryAfter } from "../../rules/RetryPolicy.ts"
import { settleAttempt, settleExpired, settleRightLost } from "../../rules/Settling.ts"
import { DeliverySettings } from "../DeliverySettings.ts"

export interface Attempting {
  /**
   * How to settle a delivery that must not be sent: its event is too old, or the right to see it is gone. Null when it
   * may be sent now. Fails when the directory can't say whether the receiver may still see the event.
   */
  readonly ending: (delivery: LeasedDelivery) => Effect.Effect<Settlement | null, DirectoryError>
  /** Makes the attempt and says how to settle the delivery. Fails when there is no way out to any receiver. */
  readonly make: (delivery: LeasedDelivery) => Effect.Effect<Settlement, TransportUnavailable>
}

/** Builds both, from the services they need. */
export const makeAttempting: Effect.Effect<Attempting, never, DeliverySettings | Directory | Transport | Crypto> =
  Effect.gen(function* () {
    const settings = yield* DeliverySettings
    const directory = yield* Directory
    const transport = yield* Transport
    const crypto = yield* Crypto

    /** A directory that never answers must not hold a place for ever. */
    const mayReceive = (user: UserId, scope: Scope) =>
      mayAccess(directory, user, scope).pipe(
        Effect.timeoutOrElse({
          duration: settings.ackTimeout,
          orElse: () =>
            Effect.fail(new DirectoryError({ operation: "mayAccess", cause: new Error("no answer in time") }))
        })
      )

    // Whoever asks for a resend knows the event's age.
    const isLate = ({ event, resend }: LeasedDelivery) =>
      Effect.map(
        Clock.currentTimeMillis,
        (now) => resend !== true && isExpired(settings.retry[event.resource_type], event.created_at, now)
      )

    return {
      ending: Effect.fnUntraced(function* (delivery: LeasedDelivery) {
        const { created_by, scope } = delivery.integration
        if (yield* isLate(delivery)) return settleExpired(delivery)
        if (!(yield* mayReceive(created_by.user_id, scope))) return settleRightLost(delivery)
        // The directory may have taken its time.
        return (yield* isLate(delivery)) ? settleExpired(delivery) : null
      }),

      make: Effect.fnUntraced(function* (delivery: LeasedDelivery) {
        const { event, integration } = delivery
        const startedAt = yield* Clock.currentTimeMillis
        const body = bodyOf(event)
        const result = yield* transport.post({
          url: integration.configuration.url,
          headers: yield* headersOf(
            { id: event.id, attempt: delivery.attempts + 1, signedAt: startedAt, body },
            settings.sign ? secretsOf(integration, startedAt) : []
          ).pipe(Effect.provideService(Crypto, crypto)),
          body,
          deadline: settings.ackTimeout,
          allow: allowOf(settings.allow, integration)
        })
        const now = yield* Clock.currentTimeMillis
        const attempt = attemptOf(delivery, startedAt, result, settings.ackTimeout)
        return settleAttempt(delivery, attempt, retryOf(settings.retry, integration, event.resource_type), {
          now,
          random: yield* Random.next,
          retryAfter: result._tag === "Answered" ? parseRetryAfter(result.retry_after, now) : null
        })
      })
    }
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
  outcome: judge(result, deadline, acknowledgementOf(delivery.integration)),
  status: result._tag === "Answered" ? result.status : null,
  response_excerpt: result._tag === "Answered" ? result.excerpt.slice(0, maxExcerptLength) : null,
  detail: result._tag === "Failed" ? result.detail : null
})
