/**
 * Puts a report together from the evidence of a run and its verdicts.
 */
import type { Trace } from "../evidence/Trace.ts"
import type { Ended, Evidence } from "../record/Evidence.ts"
import { probeKinds } from "../probes/Probe.ts"
import { repeatCommand } from "../record/Options.ts"
import { countsPastOne, memoryOf } from "../record/Caveats.ts"
import { causesOf } from "../record/Causes.ts"
import { sightOf } from "../record/Plan.ts"
import type { Outcome } from "../record/Verdict.ts"
import { needs } from "../requirements/Requirement.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import { select } from "../requirements/Catalogue.ts"
import { suite } from "../Suite.ts"
import { byHand } from "./Curl.ts"
import { notesOf } from "./Notes.ts"
import type { Calibration, Report, ReportedRequirement } from "./Report.ts"
import { decidedBy, effectsOf, round, stepsOf } from "./Steps.ts"
import { timingOf } from "./Timing.ts"

/** Where failing histories were stored, by the requirement's id, and why not more; null: no problem. */
export interface StoredFiles {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

/** What repeats it: the command for a stored history, or for all of one requirement; or the test. */
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
  caveats: [],
  lacksTime: false
})

const reportRequirement = (
  outcome: Outcome,
  evidence: Evidence,
  all: ReadonlyArray<Outcome>,
  { files }: StoredFiles
): ReportedRequirement => {
  const { caveats, cases, confirmed, cutShort, decisive, observed, requirement, verdict } = outcome
  const { options, startedAt, terms } = evidence
  const file = files.get(requirement.id) ?? null
  const follows = causesOf(outcome, all)
  return {
    id: requirement.id,
    level: requirement.level,
    profile: requirement.profile,
    strength: requirement.strength,
    verdict,
    statement: requirement.statement,
    source: requirement.source,
    because: decisive?.because ?? requirement.because,
    expected: requirement.expected(terms),
    observed: [observed, ...caveats].filter((text) => text !== "").join("; "),
    history: decisive === null ? [] : stepsOf(decisive),
    ...(decisive !== null && {
      historyStartedAt: new Date(Date.parse(startedAt) + decisive.trace.began).toISOString()
    }),
    effects: decisive === null ? [] : effectsOf(decisive),
    confirmed,
    cases,
    cutShort,
    ...(caveats.length > 0 && { caveats }),
    stored: file,
    ...(follows.length > 0 && { follows }),
    known: options.baseline?.includes(requirement.id) ?? false,
    decidedBy: decisive === null ? null : decidedBy(decisive),
    curl: decisive === null ? null : byHand(decisive),
    replay: replayOf(evidence, file ?? requirement.id)
  }
}

/** Known failures do not count; known failures that did not happen do. What was broken off can't have passed. */
const verdictOf = (
  requirements: ReadonlyArray<ReportedRequirement>,
  { how }: Ended,
  stale: ReadonlyArray<string>
): Report["verdict"] => {
  if (stale.length > 0 || requirements.some(({ known, verdict }) => verdict === "FAIL" && !known)) return "fail"
  if (how !== "complete" && how !== "time_up") return "inconclusive"
  const open = requirements.some(
    ({ strength, verdict }) => strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")
  )
  return open || requirements.every(({ verdict }) => verdict !== "PASS") ? "inconclusive" : "pass"
}

/** The kind and the place of a probe, also where a run ended before it was calibrated. */
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

/** By what each need was given, in words. */
type Seen = Pick<Evidence, "calibration" | "given" | "hooks" | "options" | "repeatable">

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

const isNeed = (name: string): name is Need => Object.hasOwn(needs, name)

/** What a run could see and do, and by what; where it could not, what would let it. */
export const observabilityOf = (evidence: Seen): Report["observability"] => {
  const { hooks, repeatable } = evidence
  const sight = sightOf(evidence)
  const how = howOf(evidence)
  const doubles = hooks["double"] ?? null
  return [
    { what: "answers", available: true, how: "the URL" },
    ...Object.keys(needs)
      .filter(isNeed)
      .map((need) => ({
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

const attemptsOf = (evidence: Evidence): number => {
  const traces: ReadonlyArray<Trace> = evidence.runs.flatMap(({ repeats, trace }) => [trace, ...repeats])
  return traces.reduce((sum, { attempts }) => sum + attempts.length, 0)
}

/** Puts a report together. */
export const makeReport = (evidence: Evidence, outcomes: ReadonlyArray<Outcome>, stored: StoredFiles): Report => {
  const { durationMs, echo, ended, options, runs, startedAt, terms } = evidence
  const requirements = [...outcomes, ...select(options).skipped.map(noOutcome)]
    .map((outcome) => reportRequirement(outcome, evidence, outcomes, stored))
    .toSorted((a, b) => a.id.localeCompare(b.id, "en"))
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
      guardMs: terms.guard,
      probe: probeOf(evidence)
    },
    observability: observabilityOf(evidence),
    timing: timingOf(runs, terms.deadline),
    ...(memory !== null && { memory }),
    baseline: options.baseline === null ? null : { known: options.baseline, stale },
    notes: notesOf(evidence, outcomes, stored.problem),
    verdict: verdictOf(requirements, ended, stale),
    ended: ended.how,
    endedBecause: ended.message,
    ack: terms.rule,
    deadlineMs: terms.deadline,
    guardMs: terms.guard,
    attempts: attemptsOf(evidence),
    requirements
  }
}
