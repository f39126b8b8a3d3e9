/**
 * Makes a report from the evidence and the verdicts of a run. Adds notes, and the likely cause of each failure.
 */
import { DurationText, UrlPolicy } from "@doorhook/core"
import { Array as Arrays } from "effect"
import { keyOf } from "../history/History.ts"
import { endsReceiver, isPlain } from "../history/Operations.ts"
import { classify, millis, restsOnTime } from "../judgement/Criteria.ts"
import { isLimited, limitInWords } from "../judgement/Judge.ts"
import type { Symptom } from "../judgement/Verdict.ts"
import { probeKinds } from "../probes/Probe.ts"
import { countsPastOne, memoryInWords, memoryOf, suite, tracesOf } from "../record/Evidence.ts"
import type { CaseRun, Evidence } from "../record/Evidence.ts"
import { repeatCommand, secretVariable } from "../record/Options.ts"
import type { Options } from "../record/Options.ts"
import { judged, sightOf } from "../record/Outcome.ts"
import type { Outcome } from "../record/Outcome.ts"
import { outOfReach, select } from "../requirements/Catalogue.ts"
import { allNeeds, needs } from "../requirements/Requirement.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import { countsOf, verdictOf } from "./Explanation.ts"
import type { Calibration, Report, ReportedRequirement, TimingLane } from "./Report.ts"
import { curlCommand, decidedBy, effectsOf, round, stepsOf } from "./Steps.ts"

/** Files of stored histories by requirement id, and the problem if histories could not be stored. */
export interface StoredFiles {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

/** Says how to repeat a stored history or a requirement: with a command, or with options of a test. */
const replayOf = ({ options, repeatable }: Evidence, what: string): string =>
  repeatable
    ? repeatCommand(options, what)
    : `run this test with only: [${JSON.stringify(what)}], seed: ${options.seed}`

const noOutcome = (requirement: Requirement): Outcome => ({
  requirement,
  verdict: "SKIPPED",
  observed: "left out by --skip",
  decisive: null,
  confirmed: null,
  cases: { directed: requirement.given.length, directedDone: 0, randomDone: 0 },
  cutShort: [],
  lacksTime: false,
  durationMs: 0,
  isLimit: false
})

const reportRequirement = (
  outcome: Outcome,
  evidence: Evidence,
  all: ReadonlyArray<Outcome>,
  { files }: StoredFiles
): ReportedRequirement => {
  const { cases, confirmed, cutShort, decisive, durationMs, observed, requirement, verdict } = outcome
  const { options, criteria } = evidence
  const file = files.get(requirement.id) ?? null
  const follows = causesOf(outcome, all)
  const known = options.baseline?.includes(requirement.id) ?? false
  return {
    id: requirement.id,
    level: requirement.level,
    profile: requirement.profile,
    strength: requirement.strength,
    verdict,
    statement: requirement.statement,
    source: requirement.source,
    because: decisive?.because ?? requirement.because,
    expected: requirement.expected(criteria),
    observed,
    ...(decisive === null
      ? { history: [], case: null, effects: [], decidedBy: null, curl: null }
      : {
          history: stepsOf(decisive, follows.length > 0),
          case: {
            title: decisive.run.title,
            origin: decisive.origin,
            isShortened: keyOf(decisive.trace.history) !== keyOf(decisive.run.trace.history),
            atMs: round(decisive.trace.began + (decisive.trace.attempts[decisive.attempt ?? -1]?.started ?? 0))
          },
          effects: effectsOf(decisive),
          decidedBy: decidedBy(decisive),
          curl: curlCommand(decisive)
        }),
    durationMs: round(durationMs),
    confirmed,
    cases,
    cutShort,
    stored: file,
    ...(follows.length > 0 && { follows }),
    under: null,
    known,
    fails: !known && (verdict === "FAIL" || (options.strict && verdict === "WARN")),
    replay: replayOf(evidence, file ?? requirement.id)
  }
}

/** Describes the probe and the completed part of its calibration; null without a probe. */
const probeOf = (evidence: Evidence): Calibration["probe"] => {
  const { calibration, options } = evidence
  const text = options.probe ?? ""
  const kind = calibration?.kind ?? probeKinds.find((one) => text.replace("https:", "http:").startsWith(`${one}:`))
  return kind === undefined
    ? null
    : {
        kind,
        name: calibration?.name ?? text,
        neverSent: calibration?.neverSent ?? null,
        one: calibration?.one ?? null,
        two: calibration?.two ?? null,
        double: calibration?.double ?? null,
        upperRangeVerified: countsPastOne(evidence),
        digest: calibration?.digest ?? false,
        lagMs: calibration?.lag ?? 0
      }
}

type Seen = Pick<Evidence, "calibration" | "given" | "hooks" | "options" | "repeatable">

/** Says for each need of the requirements what meets it in this run, such as a probe or a hook. */
const howOf = ({ calibration, hooks, options }: Seen): Readonly<Record<Need, string>> => ({
  effects:
    calibration === null ? `the probe ${options.probe ?? ""}` : `the ${calibration.kind} probe ${calibration.name}`,
  digest: "the probe's digest",
  stop: hooks["restart"] ?? hooks["kill"] ?? "a hook",
  kill: hooks["kill"] ?? "a hook",
  pause: hooks["pause"] ?? "a hook",
  advance: hooks["advance"] ?? "a hook",
  endpoints: options.url.slice(1).join(", "),
  secret: "a secret",
  rate: `${options.peakRate ?? 0} events a second`
})

/** Lists what the suite could and could not observe and control in a run, with the means used or the missing flags. */
export const observabilityOf = (evidence: Seen): Report["observability"] => {
  const { hooks, repeatable } = evidence
  const sight = sightOf(evidence)
  const how = howOf(evidence)
  const doubles = hooks["double"] ?? null
  return [
    { what: "answers", available: true, how: "the URL" },
    ...allNeeds.map((need) => ({
      what: needs[need].seen,
      available: sight.has(need),
      how: sight.has(need) ? how[need] : needs[need][repeatable ? "toGive" : "inTest"]
    })),
    {
      what: "whether the probe counts past one",
      available: doubles !== null,
      how: doubles ?? "--control-url lets the suite make the receiver record one more effect"
    }
  ]
}

export const makeReport = (evidence: Evidence, outcomes: ReadonlyArray<Outcome>, stored: StoredFiles): Report => {
  const { durationMs, echo, ended, options, runs, startedAt, criteria } = evidence
  const requirements = folded(
    [...outcomes, ...select(options).skipped.map(noOutcome)]
      .map((outcome) => reportRequirement(outcome, evidence, outcomes, stored))
      .toSorted((a, b) => a.id.localeCompare(b.id, "en"))
  )
  const stale = (options.baseline ?? []).filter((id) =>
    requirements.some((one) => one.id === id && one.verdict === "PASS")
  )
  const memory = memoryOf(evidence)
  return {
    schemaVersion: 1,
    suite,
    seed: options.seed,
    target: options.url[0] ?? "",
    level: options.level,
    profiles: options.profile,
    ...(options.binding !== null && { bindings: options.binding }),
    startedAt,
    durationMs: round(durationMs),
    maxTimeMs: options.maxTime,
    settleMs: options.settle,
    dedupKey: options.dedupKey,
    calibration: {
      echoP99Ms: round(echo),
      guardMs: criteria.guard,
      probe: probeOf(evidence)
    },
    observability: observabilityOf(evidence),
    timing: timingOf(runs),
    timeline: timelineOf(runs),
    ...(memory !== null && { memory }),
    baseline: options.baseline === null ? null : { known: options.baseline, stale },
    notes: notesOf(evidence, outcomes, stored.problem),
    verdict: verdictOf(requirements, ended.how, stale),
    counts: Object.fromEntries(countsOf(requirements)),
    ended: ended.how,
    endedBecause: ended.message,
    ack: criteria.rule,
    deadlineMs: criteria.deadline,
    guardMs: criteria.guard,
    attempts: runs.flatMap(tracesOf).flatMap(({ attempts }) => attempts).length,
    requirements
  }
}

type Decisive = NonNullable<Outcome["decisive"]>

const isBroken = ({ verdict }: Outcome): boolean => verdict === "FAIL" || verdict === "WARN"

/** The basic requirement for each symptom. It is tested with ordinary events or with simultaneous copies. */
const basicRequirement: Readonly<Record<Symptom, Requirement["id"]>> = {
  unacknowledged: "R-ACK-01",
  duplicate_refused: "R-DUP-01",
  lost: "R-LOS-01",
  doubled: "R-DUP-02",
  doubled_at_once: "R-DUP-04"
}

/** Returns the status of the decisive attempt, or how the attempt failed. */
const answerOf = ({ attempt, trace }: Decisive): number | string | undefined => {
  const exchange = trace.attempts[attempt ?? -1]?.exchange
  return exchange?._tag === "Answered" ? exchange.status : exchange?.outcome
}

/** Whether the possible cause is a breach of the basic requirement for the failure's symptom. */
const isSymptomOf = ({ decisive: found }: Outcome, { decisive, requirement: { id } }: Outcome): boolean => {
  if (found === null || found.symptom === null || decisive === null) return false
  const { symptom } = found
  switch (symptom) {
    case "unacknowledged":
    case "duplicate_refused":
      return decisive.isOrdinary && basicRequirement[symptom] === id && answerOf(found) === answerOf(decisive)
    case "lost":
    case "doubled":
      return decisive.isOrdinary && basicRequirement[symptom] === id
    case "doubled_at_once":
      return decisive.isOrdinary
        ? basicRequirement.doubled === id
        : basicRequirement[symptom] === id && decisive.symptom === symptom
  }
}

/**
 * Returns the kinds of unusual operations in the decisive history. All operations that stop the receiver count as one
 * kind.
 */
const specialsOf = ({ decisive }: Outcome): ReadonlyArray<string> =>
  decisive === null
    ? []
    : decisive.trace.history.ops.filter((op) => !isPlain(op)).map((op) => (endsReceiver(op) ? "end" : op.k))

/**
 * Whether a requirement that examines all runs failed on a history that also breaks the cause's requirement. The two
 * failing histories must have a kind of unusual operation in common.
 */
const isOfKind = (outcome: Outcome, cause: Outcome): boolean => {
  const { decisive, requirement } = outcome
  if (
    decisive === null ||
    decisive.isOrdinary ||
    requirement.examines === "own" ||
    cause.requirement.examines === "all"
  ) {
    return false
  }
  const specials = specialsOf(cause)
  return (
    specialsOf(outcome).some((kind) => specials.includes(kind)) &&
    judged(cause.requirement, decisive.trace, decisive.criteria).verdict === "FAIL"
  )
}

/**
 * Whether a failed requirement presupposes the possible cause. The cause must have failed on ordinary events, on the
 * same history, or with the same symptom.
 */
const isPresupposed = ({ decisive, requirement }: Outcome, cause: Outcome): boolean =>
  requirement.presupposes.includes(cause.requirement.id) &&
  decisive !== null &&
  cause.decisive !== null &&
  (cause.decisive.isOrdinary ||
    keyOf(decisive.trace.history) === keyOf(cause.decisive.trace.history) ||
    (decisive.symptom !== null && decisive.symptom === cause.decisive.symptom))

/**
 * Returns the ids of the broken requirements that probably caused a failure. If the basic requirement for its symptom
 * is broken, returns only that one. Otherwise returns presupposed requirements, and requirements that the same kind of
 * history breaks. The result affects the order in reports, not the verdicts.
 */
export const causesOf = (outcome: Outcome, all: ReadonlyArray<Outcome>): ReadonlyArray<Requirement["id"]> => {
  if (!isBroken(outcome) || outcome.isLimit) return []
  const others = all.filter((one) => one !== outcome && isBroken(one) && !one.isLimit)
  const basic = others.filter((one) => isSymptomOf(outcome, one))
  const causes =
    basic.length > 0 ? basic.slice(0, 1) : others.filter((one) => isPresupposed(outcome, one) || isOfKind(outcome, one))
  return causes.map(({ requirement: { id } }) => id)
}

/**
 * Maps the id of a requirement to the id of the cause under which it is shown. The verdict of a cause is at least as
 * severe. There are no cycles.
 */
const parentsOf = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyMap<string, string> => {
  const byId = new Map(requirements.map((one) => [one.id, one]))
  const parents = new Map<string, string>()
  const isUnder = (id: string, other: string): boolean => {
    for (let at: string | undefined = id; at !== undefined; at = parents.get(at)) if (at === other) return true
    return false
  }
  for (const { follows = [], id, known, verdict } of requirements) {
    const parent = follows.find((cause) => {
      const one = byId.get(cause)
      return one !== undefined && (one.verdict === "FAIL" || one.verdict === verdict) && (known || !one.known)
        ? !isUnder(cause, id)
        : false
    })
    if (parent !== undefined) parents.set(id, parent)
  }
  return parents
}

/** Folds each failure under its cause. */
export const folded = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyArray<ReportedRequirement> => {
  const parents = parentsOf(requirements)
  return requirements.map((one) => ({ ...one, under: parents.get(one.id) ?? null }))
}

/** Measures the answers to single requests while nothing else ran. */
const timingOf = (runs: ReadonlyArray<CaseRun>): TimingLane => {
  const times = runs
    .filter(({ alone, lane }) => alone && lane === "timing")
    .flatMap(tracesOf)
    .flatMap(({ attempts }) => attempts)
    .filter(({ exchange, kind }) => kind === "delivery" && exchange._tag === "Answered")
    .map(({ exchange }) => exchange.elapsed)
    .toSorted((a, b) => a - b)
  const at = (share: number): number => round(times[Math.max(0, Math.ceil(times.length * share) - 1)] ?? 0)
  return { attempts: times.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1) }
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** Counts and times the requests of each second of the run. */
const timelineOf = (runs: ReadonlyArray<CaseRun>): Report["timeline"] => {
  const attempts = runs
    .flatMap(tracesOf)
    .flatMap(({ attempts, began }) =>
      attempts.map((one) => ({ ...one, at: Math.floor((began + one.started) / 1_000) }))
    )
  return Object.values(Arrays.groupBy(attempts, ({ at }) => String(at)))
    .map((all) => {
      const times = all.map(({ exchange }) => exchange.elapsed)
      return {
        at: all[0].at,
        requests: all.length,
        limited: all.filter(isLimited).length,
        p50Ms: round(median(times)),
        maxMs: round(Math.max(...times))
      }
    })
    .toSorted((a, b) => a.at - b.at)
}

/** Number of answers, and their time and growth, from which a growth is noted. Times in milliseconds. */
const leastAnswers = 50
const leastSlow = 200
const leastGrowth = 3

/**
 * Notes that answers take longer for each event that the receiver has stored, as with a search in a growing table. The
 * medians of the first, the middle and the last fifth of the run's answers must grow.
 */
const onGrowth = ({ criteria, runs }: Evidence): ReadonlyArray<string> => {
  const answers = runs
    .flatMap(tracesOf)
    .flatMap(({ attempts, began }) => attempts.map((one) => ({ ...one, at: began + one.started })))
    .filter(({ exchange, kind }) => {
      const answer = classify(exchange, criteria)
      return (kind === "delivery" || kind === "load") && (answer === "acknowledged" || restsOnTime(answer))
    })
    .toSorted((a, b) => a.at - b.at)
  if (answers.length < leastAnswers) return []
  const size = Math.floor(answers.length / 5)
  const fifth = (from: number): number =>
    median(answers.slice(from, from + size).map(({ exchange }) => exchange.elapsed))
  const [first, middle, last] = [fifth(0), fifth(2 * size), fifth(answers.length - size)]
  if (last < leastSlow || last < leastGrowth * first || middle <= first || last <= middle) return []
  const slope = (last - first) / (answers.length - size)
  return [
    `Answers grow by ${millis(slope)} per stored event, from ${millis(first)} to ${millis(last)} in ${answers.length} answers: does the receiver search all events for each new one?`
  ]
}

const unless = (condition: boolean, note: string): ReadonlyArray<string> => (condition ? [] : [note])

const idsOf = (outcomes: ReadonlyArray<Outcome>): string => outcomes.map(({ requirement }) => requirement.id).join(", ")

/** Shortest time beyond `--max-time` that is noted, in milliseconds. */
const leastExtension = 1_000

const onTime = (
  outcomes: ReadonlyArray<Outcome>,
  { durationMs, options: { maxTime }, runs }: Evidence
): ReadonlyArray<string> => {
  const short = outcomes.filter(({ cutShort, verdict }) => cutShort.length > 0 && verdict === "PASS")
  const open = outcomes.filter(({ lacksTime }) => lacksTime)
  const span = DurationText.format(maxTime)
  const limited = limitInWords(runs.flatMap(tracesOf).flatMap(({ attempts }) => attempts))
  return [
    ...unless(
      durationMs <= maxTime + leastExtension || limited === "",
      `The receiver limits requests, so the run took longer than the usual ${span}. --max-time bounds it.`
    ),
    ...unless(
      open.length === 0,
      `${idsOf(open)} could not be decided within --max-time ${span}${limited === "" ? "" : `, because the receiver ${limited}`}. Give the run more time, such as --max-time ${DurationText.format(2 * maxTime)}.`
    ),
    ...unless(
      short.length === 0,
      `${idsOf(short)} passed, but --max-time ${span} cut some of their cases short. The report lists these cases with each requirement.`
    )
  ]
}

/**
 * Notes requirements in --only that need another level or profile. Returns no note if nothing is left to test, because
 * the run's error message then lists them.
 */
const onSelection = (options: Options): ReadonlyArray<string> => {
  const wants = outOfReach(options)
  return unless(
    wants.length === 0 || select(options).selected.length === 0,
    `--only names requirements that this run does not test. They need more: ${wants.join(", ")}.`
  )
}

/** Notes that the receiver refused every event, probably because of signatures: all failures then have one cause. */
const onSecret = ({ options, runs }: Evidence): ReadonlyArray<string> => {
  const statuses = new Set(
    runs
      .flatMap(tracesOf)
      .flatMap(({ attempts }) => attempts.filter(({ kind }) => kind === "delivery"))
      .map(({ exchange }) => (exchange._tag === "Answered" ? exchange.status : null))
  )
  const [status] = statuses
  if (options.signed) {
    return statuses.size === 1 && (status === 401 || status === 403)
      ? [
          `Every event was answered with ${status}, although it was signed. Perhaps the receiver verifies a body that was parsed and serialized again instead of the bytes that arrived, or has another secret or a wrong clock.`
        ]
      : []
  }
  return statuses.size > 0 && [...statuses].every((one) => one !== null && one >= 400)
    ? [
        `Every event was answered with ${[...statuses].join(" or ")}, and the requests were not signed: the receiver may check signatures. Give its secret: --secret SECRET, or ${secretVariable}.`
      ]
    : []
}

/**
 * Notes how long the receiver was seen to remember ids. A run may be too short to show that the receiver forgets them
 * too soon.
 */
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

/** Returns notes on what limits the verdicts and what to change. `problem` says why histories could not be stored. */
const notesOf = (
  evidence: Evidence,
  outcomes: ReadonlyArray<Outcome>,
  problem: string | null
): ReadonlyArray<string> => {
  const { calibration, options } = evidence
  return [
    ...(problem === null ? [] : [problem]),
    ...onSecret(evidence),
    ...unless(
      options.level > 1,
      "Level 1 judges answers only. Level 2, with --probe, tests whether events take effect once and as they were sent."
    ),
    ...onTime(outcomes, evidence),
    ...onSelection(options),
    ...onMemory(evidence, outcomes),
    ...onGrowth(evidence),
    ...unless(
      !hidesQuery(options),
      `URL queries may hold secrets and are left out. Before you run a command, replace ${UrlPolicy.hiddenQuery} with the query.`
    ),
    ...unless(
      evidence.suite === suite,
      `Run by ${evidence.suite} and judged by ${suite}: cases that only one of these versions has count as not executed.`
    ),
    ...unless(
      calibration === null || countsPastOne(evidence),
      `The probe's upper range is unverified: a probe that can't count past one would hide every double effect. ${evidence.repeatable ? "--control-url" : "A `double` that `start` returns"} lets the suite verify it.`
    ),
    ...unless(options.dedupKey === "both", `Only the ${options.dedupKey} deduplication key was stressed.`),
    ...unless(options.ack === "200", "Any 2xx status counted as an acknowledgement; the interface accepts only 200.")
  ]
}
