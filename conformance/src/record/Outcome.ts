/**
 * From evidence to verdicts: pure functions. A plan is what a run has to do for a requirement; an outcome is its verdict. A run
 * asks for verdicts again and again, so that it stops where everything is decided.
 */
import type { Shortfall, Trace } from "../evidence/Trace.ts"
import { forBindings, keyOf } from "../history/History.ts"
import type { Case, History } from "../history/History.ts"
import { isPlain, strengthOf } from "../history/Operations.ts"
import { draw } from "../history/Samples.ts"
import type { Drawn } from "../history/Samples.ts"
import type { Strength } from "../history/Variations.ts"
import type { Judge } from "../judgement/Judge.ts"
import { millis, classify } from "../judgement/Terms.ts"
import type { Terms } from "../judgement/Terms.ts"
import { inconclusive, thrown } from "../judgement/Verdict.ts"
import type { Finding, Symptom, Verdict } from "../judgement/Verdict.ts"
import { select } from "../requirements/Catalogue.ts"
import { allNeeds, casesOf, needs } from "../requirements/Requirement.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import { memoryInWords, memoryOf, strangersInWords } from "./Evidence.ts"
import type { CaseRun, Confirmed, Ended, Evidence } from "./Evidence.ts"
import type { Options } from "./Options.ts"

export interface Plan {
  readonly requirement: Requirement
  readonly given: ReadonlyArray<Case>
  readonly further: ReadonlyArray<Case>
  readonly sampled: ReadonlyArray<Drawn>
  /** The strengths of its cases, by the keys of their histories. */
  readonly strengths: ReadonlyMap<string, Strength>
  /** An unmet need without which it can't be tested. */
  readonly missing: Need | null
  /** An unmet need without which it can't pass. */
  readonly unproven: Need | null
  /** The bindings, if they select none of its events; else null. */
  readonly unsent: ReadonlyArray<string> | null
}

const least = (...strengths: ReadonlyArray<Strength>): Strength => (strengths.includes("SHOULD") ? "SHOULD" : "MUST")

const keysOf = (cases: ReadonlyArray<Case>): ReadonlySet<string> => new Set(cases.map(({ history }) => keyOf(history)))

const planOf = (
  requirement: Requirement,
  { binding, dedupKey, level, profile, seed }: Options,
  sight: ReadonlySet<Need>
): Plan => {
  const isListed = requirement.profile !== null && !profile.includes(requirement.profile)
  // A requirement that is listed without its profile lacks what the profile needs, whatever the hooks can do.
  const missing = (isListed ? requirement.needs.at(-1) : requirement.needs.find((need) => !sight.has(need))) ?? null
  /** The cases for the bindings: each history once, without those of other cases. */
  const adapt = <One extends Case>(cases: ReadonlyArray<One>, ...others: ReadonlyArray<Case>): ReadonlyArray<One> => {
    const known = keysOf(others)
    const own = cases.flatMap((one) => {
      const adapted = forBindings(one, binding)
      return adapted === null ? [] : [[keyOf(adapted.history), { ...one, history: adapted.history }] as const]
    })
    return [...new Map(own)].flatMap(([key, one]) => (known.has(key) ? [] : [one]))
  }
  const isTested = missing === null
  const given = isTested ? adapt(casesOf(requirement, dedupKey, sight.has("effects"))) : []
  const further = isTested ? adapt(requirement.further, ...given) : []
  const sampled = isTested ? adapt(draw(requirement.sampled, seed), ...given, ...further) : []
  return {
    requirement,
    given,
    further,
    sampled,
    strengths: new Map(
      [...given, ...further, ...sampled].map(({ history, strength }) => [
        keyOf(history),
        least(requirement.strength, strength ?? "MUST")
      ])
    ),
    missing,
    unproven: level === 1 ? null : (requirement.provenBy.find((need) => !sight.has(need)) ?? null),
    unsent: isTested && given.length === 0 ? binding : null
  }
}

/** The plans of all selected requirements, and of those that are listed without their profile. */
export const plansOf = (options: Options, sight: ReadonlySet<Need>): ReadonlyArray<Plan> => {
  const { listed, selected } = select(options)
  return [...selected, ...listed].map((requirement) => planOf(requirement, options, sight))
}

/** Whether the run of a case concerns a requirement. */
export const concerns = ({ requirement, strengths }: Plan, { trace }: CaseRun): boolean =>
  requirement.examines === "all" || strengths.has(keyOf(trace.history))

/** The strength of a breach of a history: the least of requirement, case and operations. */
const strengthFor = ({ requirement, strengths }: Plan, history: History): Strength =>
  least(strengths.get(keyOf(history)) ?? requirement.strength, strengthOf(history.ops))

/** The needs that a run meets. */
export const sightOf = ({ calibration, given }: Pick<Evidence, "given" | "calibration">): ReadonlySet<Need> => {
  const sight = new Set(allNeeds.filter((need) => given.includes(need)))
  // Only the probe's answers show whether it gives a digest.
  if (calibration?.digest === true && sight.has("effects")) sight.add("digest")
  else sight.delete("digest")
  return sight
}

/** How often a case is repeated if its failure may be an accident. */
export const maxRepeats = 2

const findings = new WeakMap<Trace, Map<Judge, Finding>>()

/** A requirement's finding on a trace, cached by trace. */
export const judged = ({ judge: judgement }: Requirement, trace: Trace, terms: Terms): Finding => {
  const known = findings.get(trace) ?? new Map<Judge, Finding>()
  findings.set(trace, known)
  const before = known.get(judgement)
  if (before !== undefined) return before
  const finding = ((): Finding => {
    try {
      return judgement(trace, terms)
    } catch (cause) {
      // A judgement that throws must not affect other requirements.
      return thrown(cause)
    }
  })()
  known.set(judgement, finding)
  return finding
}

const weakened = (finding: Finding, strength: Strength): Finding =>
  finding.verdict === "FAIL" ? { ...finding, strength: least(finding.strength, strength) } : finding

/** The finding of a case's run and its repeats on a requirement. */
export interface Assessment {
  readonly finding: Finding
  /** The trace of the finding: of the run or of a repeat. */
  readonly trace: Trace
  /** Whether it is a failure that may be an accident, not yet repeated and not seen in another case. */
  readonly suspect: boolean
}

const isLate = (finding: Finding): boolean => finding.verdict === "FAIL" && finding.timing

/** Whether the times may not be the receiver's: other requests were in flight, or the suite itself stood still. */
const isDisturbed = ({ alone, trace }: CaseRun, attempt: number): boolean =>
  !alone || trace.attempts[attempt]?.exchange.stalled !== undefined

const mayBeAccident = (finding: Finding, run: CaseRun): boolean =>
  isLate(finding) ||
  (finding.verdict === "INCONCLUSIVE" &&
    !finding.empty &&
    finding.attempt !== null &&
    isDisturbed(run, finding.attempt))

/**
 * Judges one run of a case for one requirement.
 *
 * The strength of a breach is the least of four: of requirement, case, operations (`strengthOf`) and finding. A breach that rests
 * on a measured time counts as an accident until another case that ran alone, or a repeat, breaks the same requirement so. It is
 * dropped only if it happened beside other requests and passes alone.
 */
export const assess = (plan: Plan, run: CaseRun, others: ReadonlyArray<CaseRun>, terms: Terms): Assessment => {
  const { requirement } = plan
  const strength = strengthFor(plan, run.trace.history)
  const of = (trace: Trace): Finding => weakened(judged(requirement, trace, terms), strength)
  const finding = of(run.trace)
  const proven = { finding, trace: run.trace, suspect: false }
  if (!mayBeAccident(finding, run)) return proven
  for (const trace of run.repeats) {
    const repeated = of(trace)
    if (repeated.verdict === "FAIL") return { finding: repeated, trace, suspect: false }
    // Beside other histories, or while the suite stood still, times don't count: if it passes alone, it passes.
    if ((!run.alone || finding.verdict === "INCONCLUSIVE") && repeated.verdict === "PASS")
      return { finding: repeated, trace, suspect: false }
  }
  const isSeenAgain =
    run.alone &&
    isLate(finding) &&
    others.some(
      (other) =>
        other !== run && other.alone && concerns(plan, other) && isLate(judged(requirement, other.trace, terms))
    )
  if (isSeenAgain) return proven
  if (run.repeats.length < maxRepeats) return { ...proven, suspect: true }
  if (finding.verdict !== "FAIL") return proven
  const observed = `${finding.observed}; seen once, and not again in ${maxRepeats} repeats`
  return { ...proven, finding: inconclusive(finding.attempt, observed) }
}

export interface Outcome {
  readonly requirement: Requirement
  readonly verdict: Verdict
  readonly observed: string
  /** What decided the verdict; null for nothing. */
  readonly decisive: {
    readonly run: CaseRun
    readonly trace: Trace
    readonly attempt: number | null
    readonly event: number | null
    readonly symptom: Symptom | null
    /** Whether ordinary events alone break it, too. */
    readonly isOrdinary: boolean
    readonly because: string
    readonly terms: Terms
  } | null
  readonly confirmed: Confirmed | null
  readonly cases: { readonly directed: number; readonly directedDone: number; readonly randomDone: number }
  /** Its cases that were cut short, and how far they came. */
  readonly cutShort: ReadonlyArray<string>
  /** Whether it is undecided only for lack of time. */
  readonly lacksTime: boolean
}

/** Whether the receiver has acknowledged anything at all. */
export const acknowledgesAtAll = (runs: ReadonlyArray<CaseRun>, terms: Terms): boolean =>
  runs.some(({ trace }) => trace.attempts.some(({ exchange }) => classify(exchange, terms) === "acknowledged"))

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 10) / 100} s`

const shortfallInWords = ({ done, of, what }: Shortfall): string => {
  switch (what) {
    case "events":
      return `${done} of ${of} events`
    case "wait":
      return `${seconds(done)} of ${seconds(of)} waited`
    case "load":
      return `${seconds(done)} of ${seconds(of)} of load`
    case "connections":
      return `${of - done} of ${of} events late because all connections of the suite were busy`
    case "steps":
      return `given up after ${done} of ${of} steps, because answers did not come in time`
  }
}

const shortfallsOf = (runs: ReadonlyArray<CaseRun>): ReadonlyArray<string> =>
  runs.flatMap(({ title, trace: { shortfalls } }) =>
    shortfalls.length === 0 ? [] : [`${title}: ${shortfalls.map(shortfallInWords).join(", ")}`]
  )

const whyIncomplete = (
  { given, requirement }: Plan,
  done: number,
  { repeatable, runs, terms }: Pick<Evidence, "repeatable" | "runs" | "terms">,
  { how, message }: Ended
): Pick<Outcome, "observed" | "lacksTime"> => {
  const soFar = `${done} of ${given.length} cases done`
  const maxTime = repeatable ? "--max-time" : "maxTime"
  const lacksTime = how === "complete" || how === "time_up"
  if (lacksTime && requirement.presumesAcknowledgement && !acknowledgesAtAll(runs, terms))
    return {
      lacksTime: false,
      observed: "not tested: the receiver acknowledged no ordinary event (see R-ACK-01)"
    }
  const reasons: Readonly<Record<Ended["how"], string>> = {
    complete: `not enough time (${maxTime}): ${soFar}`,
    time_up: `the time was up (${maxTime}) with ${soFar}`,
    interrupted: `interrupted with ${soFar}`,
    target_unusable: `the receiver could not be reached or operated any more, with ${soFar}`,
    probe_unusable: `not fully tested: the probe became unusable. ${message}`.trimEnd(),
    stayed_down: "not fully tested: the receiver was killed and did not start again"
  }
  return { lacksTime, observed: reasons[how] }
}

interface Assessed extends Assessment {
  readonly run: CaseRun
  readonly whole: boolean
}

const passedInWords = ({ strengths }: Plan, assessed: ReadonlyArray<Assessed>): string => {
  const passed = assessed.flatMap(({ finding, trace }) => (finding.verdict === "PASS" ? [{ finding, trace }] : []))
  const times = passed.flatMap(({ finding, trace }) =>
    finding.attempts.map((index) => trace.attempts[index]?.exchange.elapsed ?? 0)
  )
  const slowest = times.reduce((most, time) => Math.max(most, time), 0)
  const events = passed.reduce((sum, { finding }) => sum + finding.events, 0)
  const bulk = passed.flatMap(({ finding, trace }) =>
    finding.events === 0 ? [] : trace.events.flatMap((sent, event) => (sent.bulk ? [trace.effects[event] ?? null] : []))
  )
  const seen = bulk.filter((effects) => effects !== null).length
  const done = new Set(assessed.map(({ run }) => keyOf(run.trace.history)))
  const left = [...strengths.keys()].filter((key) => !done.has(key)).length
  return [
    ...(times.length === 0 ? [] : [`${times.length} attempts, the slowest answered in ${millis(slowest)}`]),
    ...(events === 0 ? [] : [`the effects of ${events} events`]),
    ...(seen === bulk.length ? [] : [`a sample of ${seen} of ${bulk.length} events sent in bulk`]),
    ...(left === 0 ? [] : [`${left} of ${strengths.size} histories left out`])
  ].join("; ")
}

/** How many cut-short cases a verdict names. */
const mostNamed = 3

const cutShortInWords = (all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.length === 0
    ? []
    : [
        `CUT SHORT ${all.slice(0, mostNamed).join("; ")}${all.length > mostNamed ? ` and ${all.length - mostNamed} more` : ""}`
      ]

/** The number of variations in a history. */
const variationsIn = ({ ops }: History): number => ops.reduce((sum, op) => sum + ("how" in op ? op.how.length : 0), 0)

/** A kill by another case this soon after the last attempt may be what lost an event, in milliseconds. */
const soon = 5_000

/** Whether a trace has ordinary events only, and no action of other cases on the receiver. */
const isOrdinary = ({ attempts, began, history, interventions }: Trace): boolean => {
  const over = began + Math.max(0, ...attempts.map(({ exchange, started }) => started + exchange.elapsed))
  return history.ops.every(isPlain) && interventions.every(({ from }) => from > over + soon)
}

/** The failure that explains most: of ordinary events, short, and plain. */
const shortest = (assessed: ReadonlyArray<Assessed>): Assessed | undefined =>
  assessed.toSorted(
    ({ trace: a }, { trace: b }) =>
      Number(isOrdinary(b)) - Number(isOrdinary(a)) ||
      a.history.ops.length - b.history.ops.length ||
      a.attempts.length - b.attempts.length ||
      variationsIn(a.history) - variationsIn(b.history)
  )[0]

/** The consequence of a finding: its own, else its case's, else the requirement's for the symptom. */
const becauseOf = (finding: Finding, { because, becauses }: Requirement, own: Case | undefined): string => {
  const [said, symptom] = finding.verdict === "FAIL" ? [finding.because, finding.symptom] : [null, null]
  return said ?? own?.because ?? (symptom === null ? because : (becauses[symptom] ?? because))
}

/** Whether the receiver is gone; a probe is often a part of it. */
const isGone = ({ how }: Ended): boolean =>
  how === "target_unusable" || how === "probe_unusable" || how === "stayed_down"

/** A connection that broke while the receiver was dying is not a failure. */
const sparingDeath = (one: Assessed): Assessed => {
  const { finding, trace } = one
  if (finding.verdict !== "FAIL" || finding.attempt === null) return one
  if (trace.attempts[finding.attempt]?.exchange._tag !== "Failed") return one
  return {
    ...one,
    finding: inconclusive(finding.attempt, `${finding.observed}; the receiver was gone soon after`)
  }
}

const effectful: ReadonlySet<Need> = new Set<Need>(["effects", "digest"])

/** Whether the evidence of a run is complete, with effects if the verdict needs them. */
const isDone = ({ settled, whole }: CaseRun, { requirement: { needs: needed, provenBy } }: Plan): boolean =>
  whole && (settled || ![...needed, ...provenBy].some((need) => effectful.has(need)))

type Known = Pick<Evidence, "runs" | "terms" | "calibration" | "refinements" | "strangers" | "repeatable">

/** The outcome of one requirement, from all evidence so far. */
export const judge = (plan: Plan, known: Known, ended: Ended): Outcome => {
  const { further, given, requirement, sampled } = plan
  const { refinements, repeatable, runs, strangers, terms } = known
  const concerned = runs.filter((run) => concerns(plan, run))
  const done = new Set(concerned.filter((run) => isDone(run, plan)).map(({ trace }) => keyOf(trace.history)))
  const doneOf = (cases: ReadonlyArray<Case>): number => cases.filter(({ history }) => done.has(keyOf(history))).length
  const directedDone = doneOf(given)
  const cutShort = shortfallsOf(concerned.filter(({ trace }) => plan.strengths.has(keyOf(trace.history))))
  const refinement = refinements.find((one) => one.requirement === requirement.id)
  const wayToSee = (need: Need): string => needs[need][repeatable ? "toGive" : "inTest"]
  const outcome = (verdict: Verdict, observed: string, more: Partial<Outcome> = {}): Outcome => ({
    requirement,
    verdict,
    observed,
    decisive: null,
    confirmed: null,
    cases: { directed: given.length, directedDone, randomDone: doneOf(sampled) },
    cutShort,
    lacksTime: false,
    ...more
  })
  if (plan.missing !== null) return outcome("NOT_OBSERVABLE", `not seen: ${wayToSee(plan.missing)}`)
  if (plan.unsent !== null)
    return outcome("NOT_OBSERVABLE", `a receiver bound to ${plan.unsent.join(" and ")} gets no such events`)

  const assessed = concerned
    .map((run): Assessed => ({ ...assess(plan, run, concerned, terms), whole: isDone(run, plan), run }))
    .map((one) => (isGone(ended) ? sparingDeath(one) : one))
    // An incomplete history counts only if it proves something.
    .filter(({ finding, whole }) => whole || finding.verdict === "FAIL" || finding.verdict === "ERROR")
  const isFailed = ({ finding }: Assessed): boolean => finding.verdict === "FAIL"
  const isOpen = ({ finding }: Assessed): boolean => finding.verdict === "INCONCLUSIVE"
  /** Whether a breach is weaker than the requirement. */
  const isWeak = ({ finding }: Assessed): boolean =>
    finding.verdict === "FAIL" && finding.strength === "SHOULD" && requirement.strength === "MUST"

  const decided = (one: Assessed, verdict: Verdict): Outcome => {
    const { run, suspect } = one
    const isProven = isFailed(one) && !suspect
    // The shortest history that failed by itself represents the failure.
    const reproduced = refinement?.reproduced ?? null
    const again = reproduced === null ? null : judged(requirement, reproduced, terms)
    const [trace, finding] =
      isProven && reproduced !== null && again?.verdict === "FAIL" ? [reproduced, again] : [one.trace, one.finding]
    const key = keyOf(run.trace.history)
    const own = [...given, ...further, ...sampled].find(({ history }) => keyOf(history) === key)
    const observed = finding.verdict === "PASS" ? "" : finding.observed
    const symptom = finding.verdict === "FAIL" ? finding.symptom : null
    return outcome(verdict, suspect ? `${observed}; not confirmed by a repeat` : observed, {
      confirmed: isProven ? (refinement?.confirmed ?? null) : null,
      decisive: {
        run,
        trace,
        attempt: finding.verdict === "PASS" ? null : finding.attempt,
        event: finding.verdict === "FAIL" ? finding.event : null,
        symptom,
        isOrdinary: isOrdinary(one.trace) || isOrdinary(trace),
        because: becauseOf(finding, requirement, own),
        terms
      }
    })
  }
  const broken = (one: Assessed, verdict: Verdict): Outcome => {
    const found = decided(one, verdict)
    if (strangers.length === 0) return found
    const others = `${strangersInWords(strangers)}: let no other sender use the receiver during a run`
    return { ...found, verdict: "INCONCLUSIVE", observed: `${found.observed}; but ${others}` }
  }

  const proven = assessed.filter((one) => isFailed(one) && !one.suspect)
  const strong = shortest(proven.filter((one) => !isWeak(one)))
  if (strong !== undefined) return broken(strong, requirement.strength === "MUST" ? "FAIL" : "WARN")
  const thrownAt = assessed.find(({ finding }) => finding.verdict === "ERROR")
  if (thrownAt !== undefined) return decided(thrownAt, "ERROR")
  // A weaker case that is open does not leave the requirement open.
  const counted = assessed.filter(({ run }) => strengthFor(plan, run.trace.history) === requirement.strength)
  const saysSomething = (one: Assessed): boolean => isFailed(one) || one.finding.verdict === "PASS"
  const open =
    counted.find(
      (one) => (isFailed(one) && !isWeak(one)) || (one.finding.verdict === "INCONCLUSIVE" && !one.finding.empty)
    ) ?? (counted.some(saysSomething) ? undefined : counted.find(isOpen))
  if (open !== undefined) return decided(open, "INCONCLUSIVE")
  if (directedDone < given.length) {
    const { lacksTime, observed } = whyIncomplete(plan, directedDone, known, ended)
    return outcome("INCONCLUSIVE", observed, { lacksTime })
  }
  const weak = shortest(proven)
  if (weak !== undefined) return broken(weak, "WARN")
  const memory = requirement.id === "R-DUP-05" ? memoryOf(known) : null
  const passed = [
    passedInWords(plan, assessed),
    ...cutShortInWords(cutShort),
    ...(memory === null ? [] : [memoryInWords(memory)])
  ]
    .filter((text) => text !== "")
    .join("; ")
  return plan.unproven === null
    ? outcome("PASS", passed)
    : outcome(
        "NOT_OBSERVABLE",
        `nothing wrong in ${passed}, but not everything was observed: ${wayToSee(plan.unproven)}`
      )
}

/** The verdicts of a run. */
export const outcomesOf = (evidence: Evidence): ReadonlyArray<Outcome> =>
  plansOf(evidence.options, sightOf(evidence)).map((plan) => judge(plan, evidence, evidence.ended))
