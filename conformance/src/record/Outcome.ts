/**
 * Pure functions that make verdicts from evidence. A plan says what a run has to do for a requirement; an outcome is
 * the verdict on the requirement. A run computes verdicts repeatedly, and stops when everything is decided.
 */
import type { Shortfall, Trace } from "../evidence/Trace.ts"
import { forBindings, keyOf } from "../history/History.ts"
import type { Case, History } from "../history/History.ts"
import { isPlain, isRace, strengthOf } from "../history/Operations.ts"
import { draw } from "../history/Samples.ts"
import type { Strength } from "../history/Variations.ts"
import { limitBecause, limitInWords, limitsIn } from "../judgement/Judge.ts"
import type { Judge } from "../judgement/Judge.ts"
import { millis, classify } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { inconclusive, thrown } from "../judgement/Verdict.ts"
import type { Finding, Symptom, Verdict } from "../judgement/Verdict.ts"
import { select } from "../requirements/Catalogue.ts"
import { allNeeds, casesOf, needs } from "../requirements/Requirement.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import { failureRate, memoryInWords, memoryOf, reproductionOf, tracesOf } from "./Evidence.ts"
import type { CaseRun, Confirmed, Ended, Evidence, Reproduction } from "./Evidence.ts"
import type { Options } from "./Options.ts"

export interface Plan {
  readonly requirement: Requirement
  readonly given: ReadonlyArray<Case>
  readonly further: ReadonlyArray<Case>
  readonly sampled: ReadonlyArray<Case>
  /** Strengths of the cases, by the keys of their histories. */
  readonly strengths: ReadonlyMap<string, Strength>
  /** A need that the requirement can't be tested without and the run does not meet; null if there is none. */
  readonly missing: Need | null
  /** A need that the requirement can't pass without and the run does not meet; null if there is none. */
  readonly unproven: Need | null
  /** The bindings, if they select none of the events that the requirement needs; else null. */
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
  // A requirement whose profile was not requested lacks that profile's need, even if hooks could meet it.
  const missing = (isListed ? requirement.needs.at(-1) : requirement.needs.find((need) => !sight.has(need))) ?? null
  /** Adapts the cases to the bindings and drops those whose history occurs twice or in `others`. */
  const adapt = (cases: ReadonlyArray<Case>, ...others: ReadonlyArray<Case>): ReadonlyArray<Case> => {
    const known = keysOf(others)
    const own = cases.flatMap((one) => {
      const adapted = forBindings(one, binding)
      return adapted === null ? [] : [[keyOf(adapted.history), { ...one, history: adapted.history }] as const]
    })
    return [...new Map(own)].flatMap(([key, one]) => (known.has(key) ? [] : [one]))
  }
  const isTested = missing === null
  const given = isTested ? adapt(casesOf(requirement, dedupKey, sight)) : []
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

/** Returns the plans of the selected requirements, and of requirements listed only because their profile was not requested. */
export const plansOf = (options: Options, sight: ReadonlySet<Need>): ReadonlyArray<Plan> => {
  const { listed, selected } = select(options)
  return [...selected, ...listed].map((requirement) => planOf(requirement, options, sight))
}

/** Whether the run of a case concerns a requirement. */
export const concerns = ({ requirement, strengths }: Plan, { trace }: CaseRun): boolean =>
  requirement.examines === "all" || strengths.has(keyOf(trace.history))

/** Returns the strength of a breach in a history: the weakest of requirement, case and operations. */
const strengthFor = ({ requirement, strengths }: Plan, history: History): Strength =>
  least(strengths.get(keyOf(history)) ?? requirement.strength, strengthOf(history.ops))

/** Returns the needs that a run meets. */
export const sightOf = ({ calibration, given }: Pick<Evidence, "given" | "calibration">): ReadonlySet<Need> => {
  const sight = new Set(allNeeds.filter((need) => given.includes(need)))
  // Only the probe's answers show whether it returns a digest.
  if (calibration?.digest === true && sight.has("effects")) sight.add("digest")
  else sight.delete("digest")
  return sight
}

/** Maximum number of repeats of a case whose failure may be an accident. */
export const maxRepeats = 2

const findings = new WeakMap<Trace, Map<Judge, Finding>>()

/** Returns a requirement's finding on a trace, cached by trace. */
export const judged = ({ judge: judgement }: Requirement, trace: Trace, criteria: Criteria): Finding => {
  const known = findings.get(trace) ?? new Map<Judge, Finding>()
  findings.set(trace, known)
  const before = known.get(judgement)
  if (before !== undefined) return before
  const finding = ((): Finding => {
    try {
      return judgement(trace, criteria)
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

/** Finding for a requirement on the run of a case and its repeats. */
export interface Assessment {
  readonly finding: Finding
  /** The trace that led to the finding, from the run or from a repeat. */
  readonly trace: Trace
  /** Whether the finding may be an accident. If so, no other case has confirmed it, and the case must be repeated. */
  readonly suspect: boolean
}

const isLate = (finding: Finding): boolean => finding.verdict === "FAIL" && finding.timing

/**
 * Whether a late answer might not be the receiver's fault, because other requests were in flight or the suite was
 * stalled.
 */
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
 * The strength of a breach is the weakest of four strengths: of the requirement, the case, the operations
 * (`strengthOf`) and the finding. A late answer counts as an accident until a repeat, or another case that ran alone,
 * confirms it. The late answer is dropped only if the case did not run alone and a repeat, which runs alone, passes.
 */
export const assess = (plan: Plan, run: CaseRun, others: ReadonlyArray<CaseRun>, criteria: Criteria): Assessment => {
  const { requirement } = plan
  const strength = strengthFor(plan, run.trace.history)
  const of = (trace: Trace): Finding => weakened(judged(requirement, trace, criteria), strength)
  const finding = of(run.trace)
  const proven = { finding, trace: run.trace, suspect: false }
  if (!mayBeAccident(finding, run)) return proven
  for (const trace of run.repeats) {
    const repeated = of(trace)
    if (repeated.verdict === "FAIL") return { finding: repeated, trace, suspect: false }
    // Times measured while other histories run or the suite is stalled don't count. If the case then passes alone, it
    // has passed.
    if ((!run.alone || finding.verdict === "INCONCLUSIVE") && repeated.verdict === "PASS")
      return { finding: repeated, trace, suspect: false }
  }
  const isSeenAgain =
    run.alone &&
    isLate(finding) &&
    others.some(
      (other) =>
        other !== run && other.alone && concerns(plan, other) && isLate(judged(requirement, other.trace, criteria))
    )
  if (isSeenAgain) return proven
  if (run.repeats.length < maxRepeats) return { ...proven, suspect: true }
  if (finding.verdict !== "FAIL") return proven
  const observed = `${finding.observed}; seen once, but not in ${maxRepeats} repeats`
  return { ...proven, finding: inconclusive(finding.attempt, observed) }
}

/** Where a case comes from. */
export const origins = ["fixed", "seed", "other"] as const
type Origin = (typeof origins)[number]

export interface Outcome {
  readonly requirement: Requirement
  readonly verdict: Verdict
  readonly observed: string
  /** What decided the verdict; null if no single run did. */
  readonly decisive: {
    readonly run: CaseRun
    readonly trace: Trace
    readonly attempt: number | null
    readonly event: number | null
    readonly symptom: Symptom | null
    /** Whether ordinary events alone break the requirement. */
    readonly isOrdinary: boolean
    readonly because: string
    readonly criteria: Criteria
    /** Where the case comes from: the requirement's fixed cases, the seed, or another requirement. */
    readonly origin: Origin
  } | null
  readonly confirmed: Confirmed | null
  readonly cases: { readonly directed: number; readonly directedDone: number; readonly randomDone: number }
  /** Cases that were cut short, and how much of each was done. */
  readonly cutShort: ReadonlyArray<string>
  /** Whether the requirement is undecided only for lack of time. */
  readonly lacksTime: boolean
  /** Duration of the cases of the requirement, in milliseconds. */
  readonly durationMs: number
  /** Whether it passed, and the WARN only says that the receiver limits its requests. */
  readonly isLimit: boolean
}

/** Whether the receiver has acknowledged anything. */
export const acknowledgesAtAll = (runs: ReadonlyArray<CaseRun>, criteria: Criteria): boolean =>
  runs.some(({ trace }) => trace.attempts.some(({ exchange }) => classify(exchange, criteria) === "acknowledged"))

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 10) / 100} s`

const shortfallInWords = ({ done, of, what }: Shortfall): string => {
  switch (what) {
    case "events":
      return `${done} of ${of} events`
    case "wait":
      return `${seconds(done)} of ${seconds(of)} waited`
    case "load":
      return `${seconds(done)} of ${seconds(of)} of load`
    case "rate":
      return `${Math.round(done)} of ${Math.round(of)} events a second (--max-rate)`
    case "connections":
      return `${of - done} of ${of} events late because all connections of the suite were busy`
    case "steps":
      return `stopped after ${done} of ${of} steps, because answers did not arrive in time`
  }
}

const shortfallsOf = (runs: ReadonlyArray<CaseRun>): ReadonlyArray<string> =>
  runs.flatMap(({ title, trace: { shortfalls } }) =>
    shortfalls.length === 0 ? [] : [`${title}: ${shortfalls.map(shortfallInWords).join(", ")}`]
  )

const whyIncomplete = (
  { given, requirement }: Plan,
  done: number,
  { repeatable, runs, criteria }: Pick<Evidence, "repeatable" | "runs" | "criteria">,
  { how, message }: Ended
): Pick<Outcome, "observed" | "lacksTime"> => {
  const soFar = `${done} of ${given.length} cases done`
  const maxTime = repeatable ? "--max-time" : "maxTime"
  const lacksTime = how === "complete" || how === "time_up"
  if (lacksTime && requirement.presumesAcknowledgement && !acknowledgesAtAll(runs, criteria))
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

/** Maximum number of cut-short cases in a message. */
const mostNamed = 3

const cutShortInWords = (all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.length === 0
    ? []
    : [
        `CUT SHORT ${all.slice(0, mostNamed).join("; ")}${all.length > mostNamed ? ` and ${all.length - mostNamed} more` : ""}`
      ]

const variationsIn = ({ ops }: History): number => ops.reduce((sum, op) => sum + ("how" in op ? op.how.length : 0), 0)

/**
 * If another case kills the receiver within this many milliseconds after the last attempt, the kill may have lost the
 * event.
 */
const soon = 5_000

/** Whether a trace has only ordinary events, and no other case acted on the receiver during it or soon after. */
const isOrdinary = ({ attempts, began, history, interventions }: Trace): boolean => {
  const over = began + Math.max(0, ...attempts.map(({ exchange, started }) => started + exchange.elapsed))
  return history.ops.every(isPlain) && interventions.every(({ from }) => from > over + soon)
}

/**
 * Sorts failures by how easily they can be explained: first those with ordinary events, then those without races, then
 * short ones, then those with few variations.
 */
export const easiestFirst = <One extends { readonly trace: Trace }>(failures: ReadonlyArray<One>): ReadonlyArray<One> =>
  failures.toSorted(
    ({ trace: a }, { trace: b }) =>
      Number(isOrdinary(b)) - Number(isOrdinary(a)) ||
      Number(a.history.ops.some(isRace)) - Number(b.history.ops.some(isRace)) ||
      a.history.ops.length - b.history.ops.length ||
      a.attempts.length - b.attempts.length ||
      variationsIn(a.history) - variationsIn(b.history)
  )

/**
 * Returns the consequence of a finding: from the finding, else from its case, else from the requirement for the
 * symptom.
 */
const becauseOf = (finding: Finding, { because, becauses }: Requirement, own: Case | undefined): string => {
  const [said, symptom] = finding.verdict === "FAIL" ? [finding.because, finding.symptom] : [null, null]
  return said ?? own?.because ?? (symptom === null ? because : (becauses[symptom] ?? because))
}

/** Whether the receiver may be gone. A probe is often part of the receiver, so a failed probe counts as well. */
const isGone = ({ how }: Ended): boolean =>
  how === "target_unusable" || how === "probe_unusable" || how === "stayed_down"

/** Makes a failure undecided if its connection broke, perhaps because the receiver was dying. */
const sparingDeath = (one: Assessed): Assessed => {
  const { finding, trace } = one
  if (finding.verdict !== "FAIL" || finding.attempt === null) return one
  if (trace.attempts[finding.attempt]?.exchange._tag !== "Failed") return one
  return {
    ...one,
    finding: inconclusive(finding.attempt, `${finding.observed}; the receiver was gone soon after`)
  }
}

const originOf = ({ sampled }: Plan, listed: Case | undefined): Origin =>
  listed === undefined ? "other" : sampled.includes(listed) ? "seed" : "fixed"

const caseOf = ({ further, given, sampled }: Plan, { trace }: CaseRun): Case | undefined =>
  [...given, ...further, ...sampled].find(({ history }) => keyOf(history) === keyOf(trace.history))

const effectful: ReadonlySet<Need> = new Set<Need>(["effects", "digest"])

/** Whether the evidence of a run is complete, with effects if the verdict needs them. */
const isDone = ({ settled, whole }: CaseRun, { requirement: { needs: needed, provenBy } }: Plan): boolean =>
  whole && (settled || ![...needed, ...provenBy].some((need) => effectful.has(need)))

type Known = Pick<Evidence, "runs" | "criteria" | "calibration" | "reproductions" | "repeatable">

/** Judges one requirement by all evidence so far. */
export const judge = (plan: Plan, known: Known, ended: Ended): Outcome => {
  const { given, requirement, sampled } = plan
  const { repeatable, reproductions, runs, criteria } = known
  const concerned = runs.filter((run) => concerns(plan, run))
  const done = new Set(concerned.filter((run) => isDone(run, plan)).map(({ trace }) => keyOf(trace.history)))
  const doneOf = (cases: ReadonlyArray<Case>): number => cases.filter(({ history }) => done.has(keyOf(history))).length
  const directedDone = doneOf(given)
  const own = concerned.filter(({ trace }) => plan.strengths.has(keyOf(trace.history)))
  const cutShort = shortfallsOf(own)
  const durationMs = own.flatMap(tracesOf).reduce((sum, { began, ended: over }) => sum + over - began, 0)
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
    durationMs,
    isLimit: false,
    ...more
  })
  if (plan.missing !== null) return outcome("NOT_OBSERVABLE", `not seen: ${wayToSee(plan.missing)}`)
  if (plan.unsent !== null)
    return outcome("NOT_OBSERVABLE", `a receiver bound to ${plan.unsent.join(" and ")} gets no such events`)

  const assessed = concerned
    .map((run): Assessed => ({ ...assess(plan, run, concerned, criteria), whole: isDone(run, plan), run }))
    .map((one) => (isGone(ended) ? sparingDeath(one) : one))
    // An incomplete history counts only if it shows a breach or an error.
    .filter(({ finding, whole }) => whole || finding.verdict === "FAIL" || finding.verdict === "ERROR")
  const isFailed = ({ finding }: Assessed): boolean => finding.verdict === "FAIL"
  const isOpen = ({ finding }: Assessed): boolean => finding.verdict === "INCONCLUSIVE"
  /** Whether a finding is a breach that is weaker than the requirement. */
  const isWeak = ({ finding }: Assessed): boolean =>
    finding.verdict === "FAIL" && finding.strength === "SHOULD" && requirement.strength === "MUST"

  const reproductionFor = ({ run }: Assessed): Reproduction | undefined =>
    reproductionOf(reproductions, requirement.id, run.trace.history)
  /** Returns how likely a failure is to recur when it runs alone. */
  const rateOf = (one: Assessed): number => failureRate(reproductionFor(one)?.confirmed ?? { tried: 0, failed: 0 })
  /** Returns the failure that represents the verdict: the one most likely to recur; of equally likely ones the easiest. */
  const mostTelling = (failures: ReadonlyArray<Assessed>): Assessed | undefined =>
    easiestFirst(failures).toSorted((a, b) => rateOf(b) - rateOf(a))[0]

  const decided = (one: Assessed, verdict: Verdict): Outcome => {
    const { run, suspect } = one
    const isProven = isFailed(one) && !suspect
    const reproduction = isProven ? reproductionFor(one) : undefined
    const alike = isProven ? proven.filter((each) => isWeak(each) === isWeak(one)) : [one]
    // If the failure recurred when it ran alone, its shortened history represents it.
    const reproduced = reproduction?.trace ?? null
    const again = reproduced === null ? null : judged(requirement, reproduced, criteria)
    const [trace, finding] =
      reproduced !== null && again?.verdict === "FAIL" ? [reproduced, again] : [one.trace, one.finding]
    const listed = caseOf(plan, run)
    const observed = finding.verdict === "PASS" ? "" : finding.observed
    const symptom = finding.verdict === "FAIL" ? finding.symptom : null
    return outcome(verdict, suspect ? `${observed}; not confirmed by a repeat` : observed, {
      confirmed: reproduction?.confirmed ?? null,
      decisive: {
        run,
        trace,
        attempt: finding.verdict === "PASS" ? null : finding.attempt,
        event: finding.verdict === "FAIL" ? finding.event : null,
        symptom,
        isOrdinary: isOrdinary(trace) || alike.some((each) => isOrdinary(each.trace)),
        because: becauseOf(finding, requirement, listed),
        criteria,
        origin: originOf(plan, listed)
      }
    })
  }
  const proven = assessed.filter((one) => isFailed(one) && !one.suspect)
  const strong = mostTelling(proven.filter((one) => !isWeak(one)))
  if (strong !== undefined) return decided(strong, requirement.strength === "MUST" ? "FAIL" : "WARN")
  const thrownAt = assessed.find(({ finding }) => finding.verdict === "ERROR")
  if (thrownAt !== undefined) return decided(thrownAt, "ERROR")
  // An undecided case that is weaker than the requirement does not leave the requirement undecided.
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
  const weak = mostTelling(proven)
  if (weak !== undefined) return decided(weak, "WARN")
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

/** Returns the verdicts of a run. */
export const outcomesOf = (evidence: Evidence): ReadonlyArray<Outcome> => {
  const plans = plansOf(evidence.options, sightOf(evidence))
  return withLimit(
    plans.map((plan) => judge(plan, evidence, evidence.ended)),
    plans,
    evidence
  )
}

/**
 * Makes a limit of the receiver that was seen anywhere in the run a WARN of one requirement that passed: of R-ACK-01, or
 * if that was not tested, of the first one. Which cases meet the limit depends on the speed of the machine.
 */
const withLimit = (
  outcomes: ReadonlyArray<Outcome>,
  plans: ReadonlyArray<Plan>,
  { criteria, runs }: Pick<Evidence, "criteria" | "runs">
): ReadonlyArray<Outcome> => {
  const limited = runs.flatMap((run) => {
    // While a receiver is down, a proxy may answer 503 in its place.
    const undisturbed = tracesOf(run).filter(({ interventions }) => interventions.length === 0)
    const seen = undisturbed.map((trace) => ({ run, trace, attempt: limitsIn(trace, criteria).kept }))
    return seen.filter(({ attempt }) => attempt !== -1)
  })
  // A load reports the limit itself.
  if (outcomes.some(({ decisive, verdict }) => verdict === "WARN" && decisive?.because === limitBecause))
    return outcomes
  const [first] = limited
  const carrier =
    outcomes.find(({ requirement }) => requirement.id === "R-ACK-01") ??
    outcomes.find(({ verdict }) => verdict === "PASS")
  const plan = plans.find(({ requirement }) => requirement === carrier?.requirement)
  if (first === undefined || plan === undefined || carrier?.verdict !== "PASS") return outcomes
  const decisive = {
    ...first,
    event: null,
    symptom: null,
    isOrdinary: false,
    because: limitBecause,
    criteria,
    origin: originOf(plan, caseOf(plan, first.run))
  }
  const observed = limitInWords(limited.flatMap(({ trace }) => trace.attempts))
  return outcomes.map((one) => (one === carrier ? { ...one, verdict: "WARN", observed, decisive, isLimit: true } : one))
}
