/**
 * What a reader of a report should know besides its verdicts.
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
    ...unless(
      open.length === 0,
      `${idsOf(open)} could not be decided for want of time. A longer --max-time than ${span} may be enough.`
    ),
    ...unless(
      short.length === 0,
      `${idsOf(short)} passed on cases that were cut short; each says by how much. A longer --max-time than ${span} does more of them.`
    )
  ]
}

/** What was asked for and is no part of the run; where that is all of it, the run says so itself. */
const onSelection = (options: Options): ReadonlyArray<string> => {
  const wants = beyond(options)
  return unless(
    wants.length === 0 || select(options).selected.length === 0,
    `--only names what is not part of this run, and was not tested. It takes more: ${wants.join(", ")}.`
  )
}

/** Of a receiver that takes nothing for genuine, whatever fails has one cause. */
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
      ? `Every event was answered with ${status}, though it was signed: the receiver may have another secret than the one that was given, or a clock that is off.`
      : `Every event was answered with ${status}: the receiver may check signatures. Give its secret: --secret-file FILE, or ${secretVariable}.`
  ]
}

/** A memory that ends soon passes whatever a run has time for: it says how far that reached. */
const onMemory = (evidence: Evidence, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> => {
  const memory = memoryOf(evidence)
  const lasts = outcomes.some(({ requirement, verdict }) => requirement.id === "R-DUP-05" && verdict === "PASS")
  if (memory === null || !lasts) return []
  const beyondThat = evidence.options.profile.includes("clock")
    ? ""
    : ": a sender retries for about three days, and --profile clock looks further"
  const words = memoryInWords(memory)
  return [`${words.charAt(0).toUpperCase()}${words.slice(1)}${beyondThat}.`]
}

const hidesQuery = ({ controlUrl, probe, readyUrl, url }: Options): boolean =>
  [...url, probe, readyUrl, controlUrl].some((text) => text?.endsWith(UrlPolicy.hiddenQuery) ?? false)

/** The notes of a report; `problem` is why histories could not be stored. */
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
      "Level 1 judges by answers alone. Whether events take effect, once and as they were sent, is seen from --level 2 on, with --probe."
    ),
    ...onTime(outcomes, options),
    ...onSelection(options),
    ...onMemory(evidence, outcomes),
    ...unless(
      !hidesQuery(options),
      `The queries of URLs may hold secrets and are left out: write them where a command says ${UrlPolicy.hiddenQuery} before you run that.`
    ),
    ...unless(
      strangers.length === 0,
      `During the run, ${strangersInWords(strangers)}. Somebody else sends to this receiver.`
    ),
    ...unless(
      evidence.suite === suite,
      `Run by ${evidence.suite} and judged by ${suite}: cases that only one of them knows count as not done.`
    ),
    ...unless(
      calibration === null || countsPastOne(evidence),
      "The probe's upper range is unverified: nothing shows that it counts past one, and one that can't would hide every double effect. --control-url finds out."
    ),
    ...unless(options.dedupKey === "both", `The ${options.dedupKey} key for dropping duplicates was stressed alone.`),
    ...unless(options.ack === "200", "Any 2xx status counted as an acknowledgement; the interface knows 200 alone.")
  ]
}
