/**
 * The delivery settings, as a service.
 */
import { Context, Effect, Layer, Result } from "effect"
import * as DurationText from "../model/DurationText.ts"
import { maxDataBytes } from "../model/Event.ts"
import type { Problem } from "../model/InvalidInput.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import type { ResourceTypeTable } from "../model/ResourceType.ts"
import { builtInTable, policiesOf, ResourceTypes } from "../model/ResourceType.ts"
import { defaultDeadline } from "./Acknowledgement.ts"
import type { AllowList } from "../model/AddressPolicy.ts"
import { defaultDisableAfter } from "../model/FailureState.ts"
import type { RetryPolicies, RetryPolicy } from "../model/RetryPolicy.ts"
import { problemOf } from "../model/RetryPolicy.ts"

/**
 * How requests are signed: with the integration's secret (`hmac`), with the service's private key, which receivers
 * verify without a secret (`ed25519`), with both, or not at all.
 */
export const signings = ["hmac", "ed25519", "both", "off"] as const
export type Signing = (typeof signings)[number]

/** Whether requests are signed with the integrations' secrets. */
export const signsWithSecret = (signing: Signing): boolean => signing === "hmac" || signing === "both"

/** All durations are in milliseconds. */
export interface DeliverySettingsShape {
  /** The retry policy of each resource type. */
  readonly retry: RetryPolicies
  /** Time limit for a receiver's acknowledgement. */
  readonly ackTimeout: number
  /**
   * How long a worker's membership lasts after its last heartbeat. After that, other workers send its deliveries. Must
   * be at least `shortestLease`.
   */
  readonly lease: number
  /** Maximum number of open requests in this process. */
  readonly concurrency: number
  /** Maximum number of open requests to one integration. */
  readonly concurrencyPerIntegration: number
  /**
   * Maximum number of deliveries in memory; all others wait in the store. An eighth of it, but no more than
   * `concurrency`, is only for urgent deliveries. The last quarter is only for integrations that have at most twice
   * `concurrencyPerIntegration` in memory.
   */
  readonly buffer: number
  /** Maximum size of the event data in memory for deliveries, in bytes, of which an eighth is only for urgent ones. Further deliveries wait in the store. */
  readonly queueBytes: number
  /**
   * Maximum size of the event data that waits to be stored, in bytes, of which an eighth is only for calls with an urgent
   * event. Further callers wait for up to 5 s and then get `PublisherBusy`.
   */
  readonly waitingBytes: number
  /** Whether waiting retries are sent early once an integration acknowledges again after an outage. */
  readonly catchUp: boolean
  /** Longest time between two claims when no wake signal arrives. */
  readonly pollInterval: number
  /** Special-purpose networks that every integration may use. */
  readonly allow: AllowList
  /** Which keys sign the requests. */
  readonly signing: Signing
  /**
   * Maximum number of integrations per building or tenant; null for no limit. Existing integrations beyond the limit
   * remain.
   */
  readonly integrationsPerScope: number | null
  /**
   * Whether integrations are hidden from clients that did not create them. If false, any client of a user with the
   * right to the building or tenant can read and change its integrations, except for their signing secrets.
   */
  readonly clientIsolation: boolean
  /**
   * How long an integration may fail without an acknowledgement before it is disabled. Disabling also requires at least
   * ten failed attempts (`leastFailedAttempts`).
   */
  readonly disableAfter: number
  /** How long settled deliveries and their events are kept; null for forever. */
  readonly retention: number | null
}

/**
 * The longest `ackTimeout`, in milliseconds. A request that gets no answer counts in `concurrency` for that long.
 */
export const longestAckTimeout = 3_600_000

/** The longest `lease` and `pollInterval`, in milliseconds. */
export const longestHold = 24 * 3_600_000

/** The part of a lease reserved for recording the longest attempt, in milliseconds. */
export const settleBudget = 5_000

/** The least part of a lease for heartbeats, in milliseconds: two of them must fit in. */
const heartbeatBudget = 100

/** Returns the shortest `lease` for an `ackTimeout`, in milliseconds. */
export const shortestLease = (ackTimeout: number): number => ackTimeout + settleBudget + heartbeatBudget

export const defaultDeliverySettings: DeliverySettingsShape = {
  retry: policiesOf(builtInTable),
  ackTimeout: defaultDeadline,
  lease: 20_000,
  concurrency: 512,
  concurrencyPerIntegration: 10,
  buffer: 32_768,
  queueBytes: 32 * 1024 * 1024,
  waitingBytes: 64 * 1024 * 1024,
  catchUp: true,
  pollInterval: 1_000,
  allow: [],
  signing: "hmac",
  integrationsPerScope: 100,
  clientIsolation: false,
  disableAfter: defaultDisableAfter,
  retention: 90 * 24 * 3_600_000
}

/**
 * Returns the time limit for the directory's answer before an attempt, in milliseconds: `ackTimeout`, but at most half
 * of the lease time that remains after the attempt and its recording. The other half is for waiting in the queue.
 */
export const directoryPatience = ({ ackTimeout, lease }: DeliverySettingsShape): number =>
  Math.min(ackTimeout, (lease - ackTimeout - settleBudget) / 2)

/** Returns the longest duration of an attempt, including the directory's answer, in milliseconds. */
export const longestAttempt = (settings: DeliverySettingsShape): number =>
  directoryPatience(settings) + settings.ackTimeout

const unless = (isRight: boolean, name: string, detail: string): ReadonlyArray<Problem> =>
  isRight ? [] : [{ pointer: `/${name}`, detail }]

/** Returns a problem if a duration exceeds its limit or is not a number. */
const tooLong = (name: string, millis: number, longest: number): ReadonlyArray<Problem> =>
  unless(millis <= longest, name, `must be at most ${DurationText.format(longest)}, not ${DurationText.format(millis)}`)

/** Returns a problem if a limit in bytes is too small for the largest event. */
const tooFewBytes = (name: string, bytes: number): ReadonlyArray<Problem> =>
  unless(
    Number.isSafeInteger(bytes) && bytes >= maxDataBytes,
    name,
    `must be a whole number of bytes, at least ${maxDataBytes} (the size of the largest event), not ${bytes}`
  )

const problemsOf = (settings: DeliverySettingsShape): ReadonlyArray<Problem> => {
  const { ackTimeout, buffer, concurrency, concurrencyPerIntegration, integrationsPerScope, lease, retention } =
    settings
  const [attempt, settle] = [DurationText.format(ackTimeout), DurationText.format(settleBudget)]
  return [
    ...unless(ackTimeout > 0, "ackTimeout", "must be more than 0"),
    ...tooLong("ackTimeout", ackTimeout, longestAckTimeout),
    ...unless(settings.pollInterval > 0, "pollInterval", "must be more than 0"),
    ...tooLong("pollInterval", settings.pollInterval, longestHold),
    ...tooLong("disableAfter", settings.disableAfter, DurationText.longest),
    ...tooLong("retention", retention ?? 0, DurationText.longest),
    ...Object.entries(settings.retry).flatMap(([type, policy]) => {
      const flaw = problemOf(policy)
      return flaw === null ? [] : [{ pointer: `/retry/${type}`, detail: `delay ${flaw.at + 1} ${flaw.detail}` }]
    }),
    ...unless(concurrency >= 1, "concurrency", "must be at least 1"),
    ...unless(buffer >= concurrency, "buffer", "must be at least concurrency"),
    ...tooFewBytes("queueBytes", settings.queueBytes),
    ...tooFewBytes("waitingBytes", settings.waitingBytes),
    ...unless((integrationsPerScope ?? 1) >= 1, "integrationsPerScope", "must be at least 1"),
    ...unless(concurrencyPerIntegration >= 1, "concurrencyPerIntegration", "must be at least 1"),
    ...unless(
      lease >= shortestLease(ackTimeout) || ackTimeout > longestAckTimeout,
      "lease",
      `must be more than ackTimeout (${attempt}) plus ${settle} to record the result, not ${DurationText.format(lease)}. Use at least ${DurationText.format(shortestLease(ackTimeout))}`
    ),
    ...tooLong("lease", lease, longestHold)
  ]
}

/** Settings that replace the defaults. `retry` replaces only the policies that it contains. */
export interface DeliverySettingsOverrides extends Partial<Omit<DeliverySettingsShape, "retry">> {
  readonly retry?: Readonly<Record<string, RetryPolicy>>
}

/**
 * Combines the defaults with overrides, and fails if the combination is invalid. The default `lease` grows with
 * `ackTimeout`: with a short lease, one missed heartbeat would let a second worker send a delivery while the first is
 * still sending it.
 */
export const deliverySettingsOf = (
  overrides: DeliverySettingsOverrides,
  types: ResourceTypeTable = builtInTable
): Result.Result<DeliverySettingsShape, InvalidInput> => {
  const { ackTimeout = defaultDeliverySettings.ackTimeout } = overrides
  const settings = {
    ...defaultDeliverySettings,
    lease: Math.max(defaultDeliverySettings.lease, Math.min(longestHold, 2 * ackTimeout + 2 * settleBudget)),
    ...overrides,
    retry: { ...policiesOf(types), ...overrides.retry }
  }
  const invalid = InvalidInput.of("Invalid settings", problemsOf(settings))
  return invalid === null ? Result.succeed(settings) : Result.fail(invalid)
}

export class DeliverySettings extends Context.Service<DeliverySettings, DeliverySettingsShape>()(
  "@doorhook/core/delivery/DeliverySettings"
) {
  /** Like `deliverySettingsOf`, for the resource types of the service. */
  static layer(overrides: DeliverySettingsOverrides = {}): Layer.Layer<DeliverySettings, InvalidInput> {
    return Layer.effect(
      DeliverySettings,
      Effect.flatMap(ResourceTypes, (types) => Effect.fromResult(deliverySettingsOf(overrides, types)))
    )
  }
}
