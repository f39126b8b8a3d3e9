/**
 * What a level or a profile asks of a test: one that was asked for and lacks its means is an error of the test, as it is
 * exit code 3 of the command. A suite that skipped all of it would pass without having tested anything.
 */
import { Signature } from "@doorhook/core"
import { Redacted } from "effect"
import type { Profile } from "../requirements/Profile.ts"
import type { ReceiverSuiteOptions, StartedReceiver } from "./ReceiverSuite.ts"

/** What is wrong with the options before anything is started; null when nothing is. */
export const lackingOptions = (options: ReceiverSuiteOptions): string | null => {
  const { level = 1, otherUrls = [], peakRate, profiles = [], secret } = options
  if (otherUrls.length > 1) {
    return `otherUrls holds ${otherUrls.length} URLs: the tenant profile compares two in all, so give one`
  }
  if (secret !== undefined && Signature.keyOf(Redacted.make(secret)) === null) {
    return "secret must be a Standard Webhooks secret: whsec_ and base64"
  }
  const lacks: Readonly<Record<Profile, string | null>> = {
    signed: secret === undefined ? "the receiver's secret: secret" : null,
    tenant:
      otherUrls.length === 0
        ? "a second URL, the receiver's for another integration: otherUrls"
        : level === 1
          ? "a probe: level: 2, and probe in what start gives"
          : null,
    clock: level === 1 ? "a probe: level: 2, and probe in what start gives" : null,
    load: peakRate === undefined ? "what the receiver is made for, in events a second: peakRate" : null
  }
  const lacking = profiles.find((profile) => lacks[profile] !== null)
  return lacking === undefined ? null : `profiles: ${lacking} needs ${lacks[lacking]}`
}

/** What the started receiver should have given, and did not; null when it did. */
export const lackingMeans = (
  { level = 1, otherUrls = [], profiles = [] }: ReceiverSuiteOptions,
  { advance, kill, pause, probe, restart, resume, url }: StartedReceiver
): string | null => {
  if (otherUrls.some((other) => new URL(other).href === new URL(url).href)) {
    return "otherUrls holds the URL that start gives: the tenant profile needs the receiver's URL for another integration"
  }
  if (level >= 2 && probe === undefined) return `level: ${level} needs a probe: give probe in what start gives`
  if (level === 3 && restart === undefined && kill === undefined) {
    return "level: 3 needs a way to end the receiver: give restart or kill in what start gives"
  }
  if (profiles.includes("clock") && advance === undefined) {
    return "profiles: clock needs advance, which moves the receiver's clock: give it in what start gives"
  }
  return (pause === undefined) === (resume === undefined) ? null : "pause and resume go together: give both"
}
