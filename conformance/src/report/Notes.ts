/**
 * The notes of a report: what limits its verdicts, and what to change.
 */
import { DurationText, UrlPolicy } from "@doorhook/core"
import type { Evidence } from "../record/Evidence.ts"
import type { Options } from "../record/Options.ts"
import { secretVariable } from "../record/Options.ts"
import { strangersInWords } from "../record/Strangers.ts"
import type { Outcome } from "../record/Verdict.ts"
import { countsPastOne, memoryInWords, memoryOf } from "../record/Caveats.ts"
import { beyond, select } from "../requirements/Catalogue.ts"
import { suite } from "../Suite.ts"

const unless = (condition: boolean, note: string): ReadonlyArray<string> => (condition ? [] : [note])

const idsOf = (outcomes: ReadonlyArray<Outcome>): string => outcomes.map(({ requirement }) => requirement.id).join(", ")

const onTime = (outcomes: ReadonlyArray<Outcome>, { maxTime }: Options): ReadonlyArray<string> => {
  const short = outcomes.filter(({ cutShort, verdict }) => cutShort.length > 0 && verdict === "PASS")
  const open = outcomes.filter(({ lacksTime }) => lacksTime)
  const span = DurationText.format(maxTime)
  return [
    ...unless(open.length === 0, `${idsOf(open)} could not be decided within --max-time ${span}. Give more time.`),
    ...unless(
      short.length === 0,
      `${idsOf(short)} passed on cases that --max-time ${span} cut short; each says by how much.`
    )
  ]
}

/** What --only names beyond the level and the profiles of the run. If that is all, the run fails with it. */
const onSelection = (options: Options): ReadonlyArray<string> => {
  const wants = beyond(options)
  return unless(
    wants.length === 0 || select(options).selected.length === 0,
    `--only names requirements that this run does not test. They need more: ${wants.join(", ")}.`
  )
}

/** If a receiver refuses everything as not genuine, all failures have one cause. */
const onSecret = ({ options, runs }: Evidence): ReadonlyArray<string> => {
  const statuses = new Set(
    runs
      .flatMap(({ repeats, trace }) => [trace, ...repeats])
      .flatMap(({ attempts }) => attempts.filter(({ kind }) => kind === "delivery"))
      .map(({ exchange }) => (exchange._tag === "Answered" ? exchange.status : null))
  )
  const [status] = statuses
  if (statuses.size !== 1 || (status !== 401 && status !== 403)) return []
  return [
    options.signed
      ? `Every event was answered with ${status}, though it was signed: the receiver may have another secret than the one given, or its clock may be off.`
      : `Every event was answered with ${status}: the receiver may check signatures. Give its secret: --secret SECRET, or ${secretVariable}.`
  ]
}

/** A short memory of ids passes whatever a run has time for: say how far it was tested. */
const onMemory = (evidence: Evidence, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> => {
  const memory = memoryOf(evidence)
  const lasts = outcomes.some(({ requirement, verdict }) => requirement.id === "R-DUP-05" && verdict === "PASS")
  if (memory === null || !lasts) return []
  const beyondThat = evidence.options.profile.includes("clock")
    ? ""
    : ": a sender retries for about three days, which --profile clock tests"
  const words = memoryInWords(memory)
  return [`${words.charAt(0).toUpperCase()}${words.slice(1)}${beyondThat}.`]
}

const hidesQuery = ({ controlUrl, probe, readyUrl, url }: Options): boolean =>
  [...url, probe, readyUrl, controlUrl].some((text) => text?.endsWith(UrlPolicy.hiddenQuery) ?? false)

/** `problem` says why histories could not be stored. */
export const notesOf = (
  evidence: Evidence,
  outcomes: ReadonlyArray<Outcome>,
  problem: string | null
): ReadonlyArray<string> => {
  const { calibration, options, strangers } = evidence
  return [
    ...(problem === null ? [] : [problem]),
    ...onSecret(evidence),
    ...unless(
      options.level > 1,
      "Level 1 judges answers only. Level 2, with --probe, tests whether events take effect once and as they were sent."
    ),
    ...onTime(outcomes, options),
    ...onSelection(options),
    ...onMemory(evidence, outcomes),
    ...unless(
      !hidesQuery(options),
      `The queries of URLs may hold secrets and are left out: write them in place of ${UrlPolicy.hiddenQuery} before you run a command.`
    ),
    ...unless(
      strangers.length === 0,
      `During the run, ${strangersInWords(strangers)}. Another sender uses this receiver.`
    ),
    ...unless(
      evidence.suite === suite,
      `Run by ${evidence.suite} and judged by ${suite}: cases that only one of them has count as not executed.`
    ),
    ...unless(
      calibration === null || countsPastOne(evidence),
      `The probe's upper range is unverified: a probe that can't count past one would hide every double effect. ${evidence.repeatable ? "--control-url" : "`double` of what `start` returns"} lets the suite verify it.`
    ),
    ...unless(options.dedupKey === "both", `Only the ${options.dedupKey} deduplication key was stressed.`),
    ...unless(options.ack === "200", "Any 2xx status counted as an acknowledgement; the interface accepts only 200.")
  ]
}
