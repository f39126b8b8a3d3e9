/**
 * What does it again: the command for a stored history, or for all of one requirement, as it was run; or the test.
 */
import { Acknowledgement, DurationText, Shell, UrlPolicy } from "@doorhook/core"
import { defaultMaxTime, defaultSettle } from "../record/SuiteOptions.ts"

/** What a run was called with, as far as it decides what is sent. */
export interface Invocation {
  readonly url: URL
  /** The receiver's other URLs. */
  readonly otherUrls: ReadonlyArray<URL>
  readonly seed: number
  readonly deadline: number
  readonly settle: number
  readonly maxTime: number
  readonly rule: Acknowledgement.AcknowledgementRule
  readonly signed: boolean
  readonly owned: boolean
  readonly level: 1 | 2 | 3
  readonly profiles: ReadonlyArray<string>
  /** Further words: how to see and operate the receiver; null where a test does that, and no command can. */
  readonly flags: ReadonlyArray<string> | null
}

/** The name of the variable that holds the secret of a receiver that checks signatures. */
export const secretVariable = "DOORHOOK_CONFORMANCE_SECRET"

/** What to repeat: a file with a history, or the id of a requirement. */
export const rerunOf = (invocation: Invocation, what: string): string => {
  const { deadline, flags, level, maxTime, otherUrls, owned, profiles, rule, seed, settle, signed, url } = invocation
  if (flags === null) return `run this test with only: [${JSON.stringify(what)}], seed: ${seed}`
  const urls = [url, ...otherUrls].map((one) => `--url ${Shell.quote(UrlPolicy.shownUrl(one))}`).join(" ")
  return [
    ...(signed ? [`${secretVariable}=whsec_...`] : []),
    `npx doorhook conformance replay ${Shell.quote(what)} ${urls} --seed ${seed}`,
    // With a probe, another level is the usual one.
    ...(level === 1 && !flags.includes("--probe") ? [] : [`--level ${level}`]),
    ...(profiles.length === 0 ? [] : [`--profile ${profiles.join(",")}`]),
    ...flags.map(Shell.quote),
    ...(deadline === Acknowledgement.defaultDeadline ? [] : [`--deadline ${DurationText.format(deadline)}`]),
    ...(settle === defaultSettle ? [] : [`--settle ${DurationText.format(settle)}`]),
    // With less time than usual a history may not come to its end.
    ...(maxTime <= defaultMaxTime ? [] : [`--max-time ${DurationText.format(maxTime)}`]),
    ...(rule === "200" ? [] : [`--ack ${rule}`]),
    ...(owned ? ["--i-own-this-target"] : [])
  ].join(" ")
}
