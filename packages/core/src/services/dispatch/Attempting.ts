/**
 * One attempt of one delivery: may it be made, what is sent, and what follows from the answer.
 *
 * This runs once for each delivery, so it is written in few and cheap steps: callbacks in place of generators, and what
 * needs no waiting is done when it is asked for. So each of the effects here is to be run once, at once.
 */
import { Clock, Effect, Fiber, Random } from "effect"
import type { Attempt, LeasedDelivery } from "../../domain/Delivery.ts"
import { maxExcerptLength } from "../../domain/Delivery.ts"
import { bodyOf } from "../../domain/Event.ts"
import type { UserId } from "../../domain/Ids.ts"
import type { Scope } from "../../domain/Integration.ts"
import type { Crypto } from "../../ports/Crypto.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import { Directory, DirectoryError, mayAccess } from "../../ports/Directory.ts"
import type { TransportBusy, TransportResult, TransportUnavailable } from "../../ports/Transport.ts"
import { Transport } from "../../ports/Transport.ts"
import { judge } from "../../rules/Acknowledgement.ts"
import { acknowledgementOf, allowOf, retryOf, secretsOf } from "../../rules/DeliveryPolicy.ts"
import { headersOf } from "../../rules/DeliveryRequest.ts"
import { placeOf } from "../../rules/Redirect.ts"
import { isExpired, parseRetryAfter } from "../../rules/RetryPolicy.ts"
import { settleAttempt, settleExpired, settleRightLost } from "../../rules/Settling.ts"
import { DeliverySettings, directoryPatience } from "../DeliverySettings.ts"

export interface Attempting {
  /** How to settle a delivery whose event is too old; null when it is not. Needs nobody to be asked. */
  readonly expiry: (delivery: LeasedDelivery) => Settlement | null
  /**
   * How to settle a delivery whose event is not too old, and which must not be sent all the same: the right to see it is
   * gone. Null when it may be sent now. Fails when the directory can't say whether the receiver may still see the event.
   */
  readonly ending: (delivery: LeasedDelivery) => Effect.Effect<Settlement | null, DirectoryError>
  /**
   * Makes the attempt and says how to settle the delivery. Fails when there is no way out to any receiver, or too little left of what
   * sending needs for this one.
   */
  readonly make: (delivery: LeasedDelivery) => Effect.Effect<Settlement, TransportUnavailable | TransportBusy, Crypto>
}

/** Builds all three, from the services they need. */
export const makeAttempting: Effect.Effect<Attempting, never, DeliverySettings | Directory | Transport> = Effect.gen(
  function* () {
    const settings = yield* DeliverySettings
    const directory = yield* Directory
    const transport = yield* Transport
    const clock = yield* Clock.Clock
    const random = yield* Random.Random
    const ask = Effect.runForkWith(yield* Effect.context<never>())

    const patience = directoryPatience(settings)
    const cut = patience < settings.ackTimeout ? ", which is what the lease leaves: a longer one leaves more" : ""
    const noAnswer = Effect.suspend(() => {
      const cause = new Error(`no answer within ${patience} ms${cut}`)
      return Effect.fail(new DirectoryError({ operation: "mayAccess", cause }))
    })

    /** A directory that never answers must not hold a place for ever. One that answers at once needs no timer. */
    const mayReceive = (user: UserId, scope: Scope): Effect.Effect<boolean, DirectoryError> => {
      const question = ask(mayAccess(directory, user, scope))
      return (
        question.pollUnsafe() ??
        Fiber.join(question).pipe(
          Effect.timeoutOrElse({ duration: patience, orElse: () => noAnswer }),
          // Not waited for: one that can't be interrupted would hold the place as well.
          Effect.ensuring(Effect.sync(() => question.interruptUnsafe()))
        )
      )
    }

    // Whoever asks for a resend knows the event's age.
    const isLate = ({ event, resend }: LeasedDelivery): boolean =>
      resend !== true &&
      isExpired(settings.retry[event.resource_type], event.created_at, clock.currentTimeMillisUnsafe())

    const expiry = (delivery: LeasedDelivery): Settlement | null => (isLate(delivery) ? settleExpired(delivery) : null)

    return {
      expiry,
      ending: (delivery) => {
        const { created_by, scope } = delivery.integration
        return Effect.map(mayReceive(created_by.user_id, scope), (may) => {
          if (!may) return settleRightLost(delivery)
          // The directory may have taken its time.
          return expiry(delivery)
        })
      },

      make: (delivery) => {
        const { event, integration } = delivery
        const startedAt = clock.currentTimeMillisUnsafe()
        const body = bodyOf(event)
        const identity = { id: event.id, attempt: delivery.attempts + 1, signedAt: startedAt, body }
        const secrets = settings.sign ? secretsOf(integration, startedAt) : []
        const { url } = integration.configuration
        const { ackTimeout: deadline } = settings
        const allow = allowOf(settings.allow, integration)
        const answer = Effect.flatMap(headersOf(identity, secrets), (headers) =>
          transport.post({ url, headers, body, deadline, allow, client: integration.created_by.client_id })
        )
        return Effect.map(answer, (result) => {
          const now = clock.currentTimeMillisUnsafe()
          const attempt = attemptOf(delivery, startedAt, result, deadline)
          return settleAttempt(delivery, attempt, retryOf(settings.retry, integration, event.resource_type), {
            now,
            random: random.nextDoubleUnsafe(),
            retryAfter: result._tag === "Answered" ? parseRetryAfter(result.retry_after, now) : null
          })
        })
      }
    }
  }
)

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
  detail: result._tag === "Failed" ? result.detail : placeOf(result.location, delivery.integration.configuration.url)
})
