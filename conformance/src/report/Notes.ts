/**
 * What a reader of a report should know besides its verdicts.
 */
import { DurationText, UrlPolicy } from "@doorhook/core"
import type { Outcome } from "../executor/Judgement.ts"
import type { Stored } from "../executor/Stored.ts"
import { strangersInWords } from "../executor/Strangers.ts"
import type { Record } from "../record/Record.ts"
import { secretVariable } from "./Rerun.ts"
import { beyond, select } from "../requirements/Selection.ts"
import { suite } from "../Suite.ts"

/** What a report is made from. */
export interface ReportInput extends Stored {
  readonly record: Record
  readonly outcomes: ReadonlyArray<Outcome>
}

/** Whether the probe can count past one: it did when asked to, or of a double effect. */
export const countsPastOne = ({ calibration, runs }: Record): boolean =>
  (calibration?.double ?? null) !== null ||
  runs.some(({ repeats, trace }) =>
    [trace, ...repeats].some(({ effects }) => effects.some((one) => (one?.most ?? 0) > 1))
  )

const cutShortOf = ({ outcomes, record: { facts } }: ReportInput): ReadonlyArray<string> => {
  const short = outcomes.filter(({ cutShort, verdict }) => cutShort.length > 0 && verdict === "PASS")
  const ids = short.map(({ requirement }) => requirement.id)
  return ids.length === 0
    ? []
    : [
        `${ids.join(", ")} passed on cases that were cut short; each says by how much. A longer --max-time than ${DurationText.format(facts.maxTime)} does more of them.`
      ]
}

/** What was asked for and is no part of the run; where that is all of it, the run says so itself. */
const beyondOf = ({ facts }: Record): ReadonlyArray<string> => {
  const wants = beyond(facts)
  return wants.length === 0 || select(facts).selected.length === 0
    ? []
    : [`--only names what is not part of this run, and was not tested. It takes more: ${wants.join(", ")}.`]
}

const timelessOf = ({ outcomes, record: { facts } }: ReportInput): ReadonlyArray<string> => {
  const ids = outcomes.filter(({ lacksTime }) => lacksTime).map(({ requirement }) => requirement.id)
  return ids.length === 0
    ? []
    : [
        `${ids.join(", ")} could not be decided for want of time. A longer --max-time than ${DurationText.format(facts.maxTime)} may be enough.`
      ]
}

/** What passes by its answers alone may store nothing. */
const effectsUnseen = ({ facts }: Record): ReadonlyArray<string> =>
  facts.level > 1
    ? []
    : [
        "Level 1 judges by answers alone. Whether events take effect, once and as they were sent, is seen from --level 2 on, with --probe."
      ]

/** Of a receiver that takes nothing for genuine, whatever fails has one cause. */
const unauthorizedOf = ({ facts, runs }: Record): ReadonlyArray<string> => {
  const statuses = new Set(
    runs
      .flatMap(({ repeats, trace }) => [trace, ...repeats])
      .flatMap(({ attempts }) => attempts.filter(({ kind }) => kind === "delivery"))
      .map(({ exchange }) => (exchange._tag === "Answered" ? exchange.status : null))
  )
  const [status] = statuses
  if (statuses.size !== 1 || (status !== 401 && status !== 403)) return []
  return [
    facts.signed
      ? `Every event was answered with ${status}, though it was signed: the receiver may have another secret than the one that was given, or a clock that is off.`
      : `Every event was answered with ${status}: the receiver may check signatures. Give its secret: --secret-file FILE, or ${secretVariable}.`
  ]
}

export const notesOf = (input: ReportInput): ReadonlyArray<string> => [
  ...(input.problem === null ? [] : [input.problem]),
  ...unauthorizedOf(input.record),
  ...effectsUnseen(input.record),
  ...timelessOf(input),
  ...cutShortOf(input),
  ...beyondOf(input.record),
  ...notesOnRun(input.record)
]

const hidesQuery = ({ otherUrls, repeatFlags, url }: Record["facts"]): boolean =>
  [url, ...otherUrls, ...(repeatFlags ?? [])].some((text) => text.endsWith(UrlPolicy.hiddenQuery))

const notesOnRun = (record: Record): ReadonlyArray<string> => [
  ...(hidesQuery(record.facts)
    ? [
        `The queries of URLs may hold secrets and are left out: write them where a command says ${UrlPolicy.hiddenQuery} before you run that.`
      ]
    : []),
  ...(record.strangers.length === 0
    ? []
    : [`During the run, ${strangersInWords(record.strangers)}. Somebody else sends to this receiver.`]),
  ...(record.suite === suite
    ? []
    : [`Run by ${record.suite} and judged by ${suite}: cases that only one of them knows count as not done.`]),
  ...(record.facts.probe !== null && record.calibration !== null && !countsPastOne(record)
    ? [
        "The probe's upper range is unverified: nothing shows that it counts past one, and one that can't would hide every double effect. --control-url finds out."
      ]
    : []),
  ...(record.facts.dedupKey === "both"
    ? []
    : [`The ${record.facts.dedupKey} key for dropping duplicates was stressed alone.`]),
  ...(record.facts.ack === "2xx"
    ? ["Any 2xx status counted as an acknowledgement; the interface knows 200 alone."]
    : [])
]
