/**
 * How deliveries are made. One service, so that every place that needs a number takes it from here.
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
 * How requests are signed: with the secret of the integration (`hmac`), with the private key of the service, which receivers
 * check without a secret (`ed25519`), with both, or not at all.
 */
export const signings = ["hmac", "ed25519", "both", "off"] as const
export type Signing = (typeof signings)[number]

/** All durations in milliseconds. */
export interface DeliverySettingsShape {
  /** The retry policy of each resource type. */
  readonly retry: RetryPolicies
  /** How long a receiver has to acknowledge. */
  readonly ackTimeout: number
  /**
   * How long a worker's membership lasts after its last heartbeat. Others then send what it held. It must be longer than
   * `ackTimeout` and `settleBudget` together.
   */
  readonly lease: number
  /** The most requests open at once in this process. */
  readonly concurrency: number
  /** The most requests open at once to one integration. */
  readonly concurrencyPerIntegration: number
  /**
   * The most deliveries that this process holds in memory; all others wait in the store. An eighth of it is kept for calls,
   * a quarter for integrations of which less is held than twice `concurrencyPerIntegration`.
   */
  readonly buffer: number
  /** The most event data of deliveries that this process holds in memory, in bytes. Beyond that, deliveries wait in the store. */
  readonly queueBytes: number
  /**
   * The most event data of publications that wait to be stored, in bytes. Beyond that, callers wait for up to 5 s and then
   * get a `PublisherBusy`.
   */
  readonly waitingBytes: number
  /** Whether an integration that acknowledges again after an outage is sent its waiting retries early. */
  readonly catchUp: boolean
  /** How long to wait for a wake signal before looking for due deliveries anyway. */
  readonly pollInterval: number
  /** Special-purpose networks that every integration may use. */
  readonly allow: AllowList
  /** What requests are signed with. */
  readonly signing: Signing
  /** The most integrations of one building or tenant; null is any number. Those that are there already stay. */
  readonly integrationsPerScope: number | null
  /**
   * Whether integrations that other clients created are hidden from a client. Off, every client of a user with the right sees
   * and changes them, except for the signing secret.
   */
  readonly clientIsolation: boolean
  /**
   * For how long an integration may acknowledge nothing of what is sent before it is disabled. It is not disabled before ten
   * failed attempts (`leastFailedAttempts`).
   */
  readonly disableAfter: number
  /** How long settled deliveries and their events are kept; null is forever. */
  readonly retention: number | null
}

/** The longest `ackTimeout`, in milliseconds: a request keeps its place in the queue all that time. */
export const longestAckTimeout = 3_600_000

/** The longest `lease` and `pollInterval`, in milliseconds. */
export const longestHold = 24 * 3_600_000

/** The part of a lease that is left to record how the longest attempt ended, in milliseconds. */
export const settleBudget = 5_000

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
 * How long the directory has for its answer before an attempt, in milliseconds: as long as the receiver, but at most half of
 * what a lease has beyond the attempt and its recording. The other half is for the wait for a place.
 */
export const directoryPatience = ({ ackTimeout, lease }: DeliverySettingsShape): number =>
  Math.min(ackTimeout, (lease - ackTimeout - settleBudget) / 2)

/** The longest that an attempt takes, in milliseconds: the directory's answer and the receiver's. */
export const longestAttempt = (settings: DeliverySettingsShape): number =>
  directoryPatience(settings) + settings.ackTimeout

const unless = (isRight: boolean, name: string, detail: string): ReadonlyArray<Problem> =>
  isRight ? [] : [{ pointer: `/${name}`, detail }]

/** A setting that exceeds its limit, or is not a number. */
const tooLong = (name: string, millis: number, longest: number): ReadonlyArray<Problem> =>
  unless(millis <= longest, name, `must be at most ${DurationText.format(longest)}, not ${DurationText.format(millis)}`)

/** A limit in bytes holds the largest event at least. */
const tooFewBytes = (name: string, bytes: number): ReadonlyArray<Problem> =>
  unless(
    Number.isSafeInteger(bytes) && bytes >= maxDataBytes,
    name,
    `must be a whole number of bytes from ${maxDataBytes}, which the largest event has, not ${bytes}`
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
      lease > ackTimeout + settleBudget || ackTimeout > longestAckTimeout,
      "lease",
      `must be more than ackTimeout (${attempt}) and ${settle} to record how it ended, not ${DurationText.format(lease)}`
    ),
    ...tooLong("lease", lease, longestHold)
  ]
}

/** Settings that replace defaults; of `retry`, policy by policy. */
export interface DeliverySettingsOverrides extends Partial<Omit<DeliverySettingsShape, "retry">> {
  readonly retry?: Readonly<Record<string, RetryPolicy>>
}

/**
 * The defaults with some of them replaced; fails where they contradict each other. Unless it is given, `lease` grows with
 * `ackTimeout`: with a shorter one, a worker that misses a heartbeat would still be sending what another sends already.
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
  /** As `deliverySettingsOf`, for the resource types of the service. */
  static layer(overrides: DeliverySettingsOverrides = {}): Layer.Layer<DeliverySettings, InvalidInput> {
    return Layer.effect(
      DeliverySettings,
      Effect.flatMap(ResourceTypes, (types) => Effect.fromResult(deliverySettingsOf(overrides, types)))
    )
  }
}
