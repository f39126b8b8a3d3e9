/**
 * The settings of deliveries to one integration: those of the service, and the overrides of the integration.
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

/** The retry policy of a resource type. An override can't change the lifetime, which belongs to the event. */
export const retryOf = (retry: RetryPolicies, { overrides }: Overridden, type: ResourceType): RetryPolicy => {
  const policy = policyOf(retry, type)
  const own = overrides.retry ?? {}
  const delays = Object.hasOwn(own, type) ? own[type] : undefined
  return delays === undefined ? policy : { ...policy, delays }
}

/** The special-purpose networks that the integration may use. */
export const allowOf = (allow: AllowList, { overrides }: Overridden): AllowList => {
  const own = overrides.allow_targets ?? []
  return own.length === 0 ? allow : [...allow, ...own.flatMap((text) => Option.toArray(parseNetwork(text)))]
}

/** Which statuses acknowledge. */
export const acknowledgementOf = ({ overrides }: Overridden): AcknowledgementRule => overrides.acknowledge ?? "200"

/** Custom headers of the integration's requests; null for none. */
export const customHeadersOf = ({ overrides: { headers } }: Overridden): Readonly<Record<string, string>> | null =>
  headers === undefined ? null : Record.map(headers, Redacted.value)

/** How long a replaced secret continues to sign, in milliseconds. */
export const previousSecretFor = 24 * 3_600_000

/**
 * The most replaced secrets that still sign. Each adds 48 characters to the signature header and costs another signature.
 * No receiver needs more rotations than these within a day. The next rotation drops the oldest.
 */
export const maxPreviousSecrets = 5

type Secrets = Pick<Integration, "previous_secrets" | "signing_secret">

/** The secrets after a rotation. The current secret continues to sign for its time, earlier ones for the rest of theirs. */
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

/** The secrets that sign a request at `now`, the newest first. */
export const secretsOf = (
  { previous_secrets, signing_secret }: Secrets,
  now: number
): ReadonlyArray<Redacted.Redacted<string>> => {
  const current = [signing_secret]
  for (const { secret, until } of previous_secrets) if (now < until) current.push(secret)
  return current
}
