/**
 * The claimer: leases due deliveries from the store whenever there is room for them.
 */
import { Clock, Effect, Queue } from "effect"
import type { IntegrationId } from "../../domain/Ids.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import { DeliverySettings } from "../DeliverySettings.ts"
import { lasting } from "../Lasting.ts"
import { ClaimTiming } from "./ClaimTiming.ts"
import type { LaneBuffer } from "./LaneBuffer.ts"
import type { Leases } from "./Leases.ts"
import type { Outages } from "./Outages.ts"
import type { Refusals } from "./Refusals.ts"
import { untilAnswered } from "./Refusals.ts"

/** The most deliveries claimed in one transaction: more would hold up the calls behind it. */
const claimBatch = 150

/** What the claimer asks of the dispatcher around it. */
export interface ClaimerOptions {
  readonly buffer: LaneBuffer
  readonly leases: Leases
  readonly outages: Outages
  readonly refusals: Refusals
  /** Runs a transaction in its turn. */
  readonly inTurn: <A, E, R>(transaction: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Something was claimed: it can be sent. */
  readonly pump: () => void
}

interface Claimer {
  /** Somebody says that there is something to claim. */
  readonly signal: Effect.Effect<void>
  /** Looks earlier than it meant to, if it should by now. */
  readonly reconsider: () => void
  /** A delivery will be due. */
  readonly noteDue: (at: number) => void
  /** When it looked last with success, in milliseconds since the epoch; null before the first time. */
  readonly lookedAt: () => number | null
  readonly run: Effect.Effect<never>
}

export const makeClaimer = Effect.fnUntraced(function* ({
  buffer,
  inTurn,
  leases,
  outages,
  pump,
  refusals
}: ClaimerOptions) {
  const store = yield* DeliveryStore
  const settings = yield* DeliverySettings
  const clock = yield* Clock.Clock
  /** Asks the claimer to look again. */
  const nudges = yield* Queue.sliding<void>(1)
  const timing = new ClaimTiming({
    pollInterval: settings.pollInterval,
    goodRoom: Math.min(claimBatch, Math.floor(settings.buffer / 8))
  })
  let lookedAt: number | null = null
  /** When it looks again unless it is nudged. */
  let nextLook = Number.POSITIVE_INFINITY

  /** Nothing is claimed while nothing can be recorded or sent: it could not be sent before its lease ends. */
  const nextTime = (now: number): number => {
    // The clock was set back.
    if (lookedAt !== null && lookedAt > now) return now
    if (refusals.has("settle")) return now + settings.pollInterval
    const paused = outages.pausedUntil(now)
    return paused === null ? timing.next(buffer) : Math.min(paused, (lookedAt ?? now) + settings.pollInterval)
  }

  const reconsider = (): void => {
    if (nextTime(clock.currentTimeMillisUnsafe()) < nextLook) Queue.offerUnsafe(nudges, undefined)
  }

  /** Takes what there is room for. */
  const claim = Effect.gen(function* () {
    const now = clock.currentTimeMillisUnsafe()
    timing.begin(now)
    const limitPerIntegration = buffer.allowance
    const limits = buffer.appetites
    const limit = buffer.beginClaim(claimBatch)
    const counts = new Map<IntegrationId, number>(buffer.behind.map((id) => [id, 0]))
    const claimed = yield* store.claim({ now, lease: leases.next(now), limit, limits, limitPerIntegration })
    lookedAt = now
    refusals.clear("claim")
    for (const delivery of claimed) {
      counts.set(delivery.integration.id, (counts.get(delivery.integration.id) ?? 0) + 1)
      buffer.acceptClaimed(delivery)
    }
    const cutShort = claimed.length === limit
    for (const [integration, count] of counts) {
      buffer.setBehind(integration, cutShort || count >= (limits.get(integration) ?? limitPerIntegration))
    }
    pump()
    timing.end({ cutShort, nextDue: cutShort ? null : yield* store.nextDue })
  }).pipe(
    Effect.ensuring(Effect.sync(() => buffer.endClaim())),
    // A claim that is interrupted half way would leave its deliveries to the end of their leases.
    Effect.uninterruptible,
    inTurn,
    Effect.tapError(refusals.note("claim")),
    untilAnswered
  )

  /** Looks, and takes nothing: during an outage, so that it is known that the store could be claimed from. */
  const glance = Effect.gen(function* () {
    yield* store.nextDue
    lookedAt = clock.currentTimeMillisUnsafe()
    refusals.clear("claim")
  }).pipe(Effect.tapError(refusals.note("claim")), untilAnswered)

  const look = Effect.gen(function* () {
    const now = clock.currentTimeMillisUnsafe()
    nextLook = nextTime(now)
    if (nextLook > now) yield* Effect.timeoutOption(Queue.take(nudges), nextLook - now)
    else yield* outages.pausedUntil(now) === null ? claim : glance
  })

  return {
    signal: Effect.sync(() => {
      timing.signal()
      reconsider()
    }),
    reconsider,
    noteDue: (at) => timing.noteDue(at),
    lookedAt: () => lookedAt,
    run: lasting("Claiming deliveries", look)
  } satisfies Claimer
})
