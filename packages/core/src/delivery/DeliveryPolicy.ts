/**
 * The delivery settings of one integration: the service's settings with the integration's overrides.
 */
import { Option, Record, Redacted } from "effect"
import type { Integration } from "../model/Integration.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { AcknowledgementRule } from "./Acknowledgement.ts"
import type { AllowList } from "../model/AddressPolicy.ts"
import { parseNetwork } from "../model/AddressPolicy.ts"
import type { RetryPolicies, RetryPolicy } from "../model/RetryPolicy.ts"
import { policyOf } from "../model/RetryPolicy.ts"

type Overridden = Pick<Integration, "overrides">

/**
 * Returns the retry policy of a resource type. An integration can't override the lifetime, which is a property of the
 * event.
 */
export const retryOf = (retry: RetryPolicies, { overrides }: Overridden, type: ResourceType): RetryPolicy => {
  const policy = policyOf(retry, type)
  const own = overrides.retry ?? {}
  const delays = Object.hasOwn(own, type) ? own[type] : undefined
  return delays === undefined ? policy : { ...policy, delays }
}

/** Returns the special-purpose networks that the integration may use. */
export const allowOf = (allow: AllowList, { overrides }: Overridden): AllowList => {
  const own = overrides.allow_targets ?? []
  return own.length === 0 ? allow : [...allow, ...own.flatMap((text) => Option.toArray(parseNetwork(text)))]
}

/** Returns which statuses count as an acknowledgement. For subscriptions, SEP-3415 says any 2xx. */
export const acknowledgementOf = ({
  overrides,
  subscription
}: Pick<Integration, "overrides" | "subscription">): AcknowledgementRule =>
  overrides.acknowledge ?? (subscription === undefined ? "200" : "2xx")

/** Returns the custom headers of the integration's requests; null for none. */
export const customHeadersOf = ({ overrides: { headers } }: Overridden): Readonly<Record<string, string>> | null =>
  headers === undefined ? null : Record.map(headers, Redacted.value)

/** How long a replaced secret continues to sign, in milliseconds. */
export const previousSecretFor = 24 * 3_600_000

/**
 * Maximum number of replaced secrets that still sign. Each adds 48 characters to the signature header and costs another
 * signature. Five rotations a day are enough for any receiver. A sixth rotation drops the oldest secret.
 */
export const maxPreviousSecrets = 5

type Secrets = Pick<Integration, "previous_secrets" | "signing_secret">

/**
 * Returns the secrets after a rotation. The secret that was current continues to sign for 24 hours, earlier ones until
 * they expire.
 */
export const rotated = (
  { previous_secrets, signing_secret: secret }: Secrets,
  signing_secret: Redacted.Redacted<string>,
  now: number
): Secrets => ({
  signing_secret,
  previous_secrets: [
    { secret, until: now + previousSecretFor },
    ...previous_secrets.filter(({ until }) => now < until)
  ].slice(0, maxPreviousSecrets)
})

/** Returns the secrets that sign a request at `now`, newest first. */
export const secretsOf = (
  { previous_secrets, signing_secret }: Secrets,
  now: number
): ReadonlyArray<Redacted.Redacted<string>> => {
  const current = [signing_secret]
  for (const { secret, until } of previous_secrets) if (now < until) current.push(secret)
  return current
}
