/**
 * How deliveries are made. One service, so that every place that needs a number takes it from here.
 */
import { Context, Effect, Layer, Record, Result, Schema } from "effect"
import * as DurationText from "../domain/DurationText.ts"
import type { ResourceType } from "../domain/ResourceType.ts"
import { resourceTypeNames, resourceTypes } from "../domain/ResourceType.ts"
import { defaultDeadline } from "../rules/Acknowledgement.ts"
import type { AllowList } from "../rules/AddressPolicy.ts"
import { defaultDisableAfter } from "../rules/Failing.ts"
import type { RetryPolicy } from "../rules/RetryPolicy.ts"
import { flawOf } from "../rules/RetryPolicy.ts"

/** All durations in milliseconds. */
export interface DeliverySettingsShape {
  /** The retry policy of each resource type. */
  readonly retry: Readonly<Record<ResourceType, RetryPolicy>>
  /** How long a receiver has to acknowledge. */
  readonly ackTimeout: number
  /** How long a dispatcher may hold a delivery; others take it afterwards. */
  readonly lease: number
  /** The most requests open at once in this process. */
  readonly concurrency: number
  /** The most requests open at once to one integration. */
  readonly concurrencyPerIntegration: number
  /**
   * The most deliveries that this process holds in memory; all others wait in the store. An eighth of it is kept for calls,
   * a quarter for integrations of which less is held than twice `concurrencyPerIntegration`. Once the events of those that
   * are held have 64 Mi characters of data, no more are taken over until some have ended.
   */
  readonly buffer: number
  /** How long to wait for a wake signal before looking for due deliveries anyway. */
  readonly pollInterval: number
  /** Special-purpose networks that every integration may use. */
  readonly allow: AllowList
  /** Whether requests are signed. */
  readonly sign: boolean
  /** The most integrations of one building or tenant; null is any number. Those that are there already stay. */
  readonly integrationsPerScope: number | null
  /** For how long an integration may acknowledge nothing of what is sent before it is disabled. */
  readonly disableAfter: number
  /** How long settled deliveries and their events are kept; null is for ever. */
  readonly retention: number | null
}

/** The longest that a receiver may take: nothing is behind it any more, and its place is taken all the time. In milliseconds. */
export const longestAckTimeout = 3_600_000

/** The longest that this process holds a delivery, or does not look for any, in milliseconds. */
export const longestHold = 24 * 3_600_000

/** Time that must be left of a lease after the longest attempt, to record how it ended. */
export const settleBudget = 5_000

export const defaultDeliverySettings: DeliverySettingsShape = {
  retry: Record.map(resourceTypes, ({ retry }) => retry),
  ackTimeout: defaultDeadline,
  lease: 20_000,
  concurrency: 512,
  concurrencyPerIntegration: 10,
  buffer: 8_192,
  pollInterval: 1_000,
  allow: [],
  sign: true,
  integrationsPerScope: 100,
  disableAfter: defaultDisableAfter,
  retention: 90 * 24 * 3_600_000
}

/** Settings that contradict each other. */
export class InvalidSettings extends Schema.TaggedError<InvalidSettings>()("InvalidSettings", {
  message: Schema.String
}) {}

/**
 * How long the directory has for its answer before an attempt, in milliseconds: as long as the receiver, but no longer than
 * leaves the attempt its part of the lease. Half of what is over, because a delivery may have waited for a place meanwhile.
 */
export const directoryPatience = ({ ackTimeout, lease }: DeliverySettingsShape): number =>
  Math.min(ackTimeout, (lease - ackTimeout - settleBudget) / 2)

/** The longest that an attempt takes, in milliseconds: the directory's answer and the receiver's. */
export const longestAttempt = (settings: DeliverySettingsShape): number =>
  directoryPatience(settings) + settings.ackTimeout

/** A setting that is longer than it may be; one that is no number is as well. */
const tooLong = (name: string, millis: number, longest: number): ReadonlyArray<string> =>
  millis <= longest
    ? []
    : [`${name}: must be at most ${DurationText.format(longest)}, not ${DurationText.format(millis)}`]

const problemsOf = (settings: DeliverySettingsShape): ReadonlyArray<string> => {
  const { ackTimeout, buffer, concurrency, concurrencyPerIntegration, integrationsPerScope, lease, retention } =
    settings
  const [attempt, settle] = [DurationText.format(ackTimeout), DurationText.format(settleBudget)]
  return [
    ...(ackTimeout > 0 ? [] : ["ackTimeout: must be more than 0"]),
    ...tooLong("ackTimeout", ackTimeout, longestAckTimeout),
    ...tooLong("pollInterval", settings.pollInterval, longestHold),
    ...tooLong("disableAfter", settings.disableAfter, DurationText.longest),
    ...tooLong("retention", retention ?? 0, DurationText.longest),
    ...resourceTypeNames.flatMap((type) => {
      const flaw = flawOf(settings.retry[type])
      return flaw === null ? [] : [`retry of ${type}: delay ${flaw.at + 1} ${flaw.detail}`]
    }),
    ...(concurrency >= 1 ? [] : ["concurrency: must be at least 1"]),
    ...(buffer >= concurrency ? [] : ["buffer: must be at least concurrency"]),
    ...((integrationsPerScope ?? 1) >= 1 ? [] : ["integrationsPerScope: must be at least 1"]),
    ...(concurrencyPerIntegration >= 1 ? [] : ["concurrencyPerIntegration: must be at least 1"]),
    ...(lease > ackTimeout + settleBudget || ackTimeout > longestAckTimeout
      ? []
      : [
          `lease: must be more than ackTimeout (${attempt}) and ${settle} to record how it ended, not ${DurationText.format(lease)}`
        ]),
    ...tooLong("lease", lease, longestHold)
  ]
}

/**
 * The defaults with some of them replaced; fails where they contradict each other. A lease that is not given grows with the
 * acknowledgement timeout, because a lease shorter than an attempt would let two dispatchers send the same delivery at once.
 */
export const deliverySettingsOf = (
  overrides: Partial<DeliverySettingsShape>
): Result.Result<DeliverySettingsShape, InvalidSettings> => {
  const { ackTimeout = defaultDeliverySettings.ackTimeout } = overrides
  const settings = {
    ...defaultDeliverySettings,
    lease: Math.max(defaultDeliverySettings.lease, Math.min(longestHold, 2 * ackTimeout + 2 * settleBudget)),
    ...overrides
  }
  const problems = problemsOf(settings)
  return problems.length === 0
    ? Result.succeed(settings)
    : Result.fail(new InvalidSettings({ message: problems.join("; ") }))
}

export class DeliverySettings extends Context.Service<DeliverySettings, DeliverySettingsShape>()(
  "@doorhook/core/services/DeliverySettings"
) {
  /** As `deliverySettingsOf`. */
  static layer(overrides: Partial<DeliverySettingsShape> = {}): Layer.Layer<DeliverySettings, InvalidSettings> {
    return Layer.effect(DeliverySettings, Effect.fromResult(deliverySettingsOf(overrides)))
  }
}
