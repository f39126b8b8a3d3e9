/**
 * The command that does it again: a stored history, or all of one requirement, as it was run.
 */
import { Acknowledgement, DurationText } from "@doorhook/core"
import { quote } from "./Shell.ts"
import { shownUrl } from "./Shown.ts"

/** What a run was called with, as far as it decides what is sent. */
export interface Invocation {
  readonly url: URL
  readonly seed: number
  readonly deadline: number
  readonly rule: Acknowledgement.AcknowledgementRule
  readonly signed: boolean
  readonly owned: boolean
  readonly level: 1 | 2 | 3
  readonly profiles: ReadonlyArray<string>
  /** Further words: how to see and operate the receiver. */
  readonly flags: ReadonlyArray<string>
}

/** The name of the variable that holds the secret of a receiver that checks signatures. */
export const secretVariable = "DOORHOOK_CONFORMANCE_SECRET"

/** What to repeat: a file with a history, or the id of a requirement. */
export const rerunOf = (invocation: Invocation, what: string): string => {
  const { deadline, flags, level, owned, profiles, rule, seed, signed, url } = invocation
  return [
    ...(signed ? [`${secretVariable}=whsec_...`] : []),
    `npx doorhook conformance replay ${quote(what)} --url ${quote(shownUrl(url))} --seed ${seed}`,
    ...(level === 1 ? [] : [`--level ${level}`]),
    ...(profiles.length === 0 ? [] : [`--profile ${profiles.join(",")}`]),
    ...flags.map(quote),
    ...(deadline === Acknowledgement.defaultDeadline ? [] : [`--deadline ${DurationText.format(deadline)}`]),
    ...(rule === "200" ? [] : [`--ack ${rule}`]),
    ...(owned ? ["--i-own-this-target"] : [])
  ].join(" ")
}
