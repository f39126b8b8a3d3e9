/**
 * The command that runs one requirement again as it was run.
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
}

/** The name of the variable that holds the secret of a receiver that checks signatures. */
export const secretVariable = "DOORHOOK_CONFORMANCE_SECRET"

export const rerunOf = ({ deadline, owned, rule, seed, signed, url }: Invocation, id: string): string =>
  [
    ...(signed ? [`${secretVariable}=whsec_...`] : []),
    `npx doorhook conformance run --url ${quote(shownUrl(url))} --only ${id} --seed ${seed}`,
    ...(deadline === Acknowledgement.defaultDeadline ? [] : [`--deadline ${DurationText.format(deadline)}`]),
    ...(rule === "200" ? [] : [`--ack ${rule}`]),
    ...(owned ? ["--i-own-this-target"] : [])
  ].join(" ")
