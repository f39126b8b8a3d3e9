/**
 * From the evidence of a run and its verdicts to a report.
 */
import type { Evidence } from "../record/Evidence.ts"
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
import { verdictOf } from "./Conclusion.ts"
import { byHand } from "./Curl.ts"
import { notesOf } from "./Notes.ts"
import type { Calibration, Report, ReportedRequirement } from "./Report.ts"
import { decidedBy, effectsOf, round, stepsOf } from "./Steps.ts"
import { timingOf } from "./Timing.ts"

/** Files of stored histories, by the requirement's id, and why others could not be stored. */
export interface StoredFiles {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

/** How to repeat a stored history or a requirement: a command, or options of the test. */
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
  lacksTime: false
})

const reportRequirement = (
  outcome: Outcome,
  evidence: Evidence,
  all: ReadonlyArray<Outcome>,
  { files }: StoredFiles
): ReportedRequirement => {
  const { cases, confirmed, cutShort, decisive, observed, requirement, verdict } = outcome
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
    observed,
    ...(decisive === null
      ? { history: [], effects: [], decidedBy: null, curl: null }
      : {
          history: stepsOf(decisive, follows.length > 0),
          historyStartedAt: new Date(Date.parse(startedAt) + decisive.trace.began).toISOString(),
          effects: effectsOf(decisive),
          decidedBy: decidedBy(decisive),
          curl: byHand(decisive)
        }),
    confirmed,
    cases,
    cutShort,
    stored: file,
    ...(follows.length > 0 && { follows }),
    known: options.baseline?.includes(requirement.id) ?? false,
    replay: replayOf(evidence, file ?? requirement.id)
  }
}

/** The probe and its calibration, as far as the run came. */
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

/** What meets each need, in words. */
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

/** The abilities of the suite in a run: what gave each, or what would. */
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
    verdict: verdictOf(requirements, ended.how, stale),
    ended: ended.how,
    endedBecause: ended.message,
    ack: terms.rule,
    deadlineMs: terms.deadline,
    guardMs: terms.guard,
    attempts: runs.flatMap(({ repeats, trace }) => [trace, ...repeats]).flatMap(({ attempts }) => attempts).length,
    requirements
  }
}
