/**
 * From evidence to verdicts: pure functions, asked again and again while a run goes on, so that it stops asking where
 * everything is decided, and once at its end.
 */
import type { Shortfall, Trace } from "../evidence/Trace.ts"
import { forBindings, keyOf } from "../history/History.ts"
import type { Strength } from "../history/Forgeries.ts"
import type { Case, History } from "../history/History.ts"
import { isPlain, strengthOf } from "../history/Operations.ts"
import { draw } from "../history/Samples.ts"
import type { Drawn } from "../history/Samples.ts"
import type { Finding, Verdict } from "../judgement/Finding.ts"
import { inconclusive, thrown } from "../judgement/Finding.ts"
import type { Judge } from "../judgement/Judge.ts"
import { storiesOf } from "../judgement/Judge.ts"
import { millis, read } from "../judgement/Reading.ts"
import type { Terms } from "../judgement/Terms.ts"
import { casesOf, needs } from "../requirements/Requirement.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import { select } from "../requirements/Selection.ts"
import type { CaseRun, Confirmed, Ended, Evidence } from "./Evidence.ts"
import type { Options } from "./Options.ts"
import { strangersInWords } from "./Strangers.ts"

/** How often a case is repeated to confirm what may have been an accident. */
export const maxRepeats = 2

/** What is to be done for a requirement in one run: its cases as the receiver's bindings leave them. */
export interface Plan {
  readonly requirement: Requirement
  readonly given: ReadonlyArray<Case>
  readonly further: ReadonlyArray<Case>
  readonly sampled: ReadonlyArray<Drawn>
  /** Its cases by the keys of their histories, with how much a breach of each says. */
  readonly strengths: ReadonlyMap<string, Strength>
  /** What it can't be tested without, and is not given. */
  readonly missing: Need | null
  /** What it can't pass without, and is not given. */
  readonly unproven: Need | null
  /** The bindings that select none of its events; null where it has cases. */
  readonly unsent: ReadonlyArray<string> | null
}

const least = (...strengths: ReadonlyArray<Strength>): Strength => (strengths.includes("SHOULD") ? "SHOULD" : "MUST")

const distinct = <One extends Case>(cases: ReadonlyArray<One>, known: ReadonlySet<string>): ReadonlyArray<One> =>
  [...new Map(cases.map((one) => [keyOf(one.history), one])).values()].filter(
    ({ history }) => !known.has(keyOf(history))
  )

const planOf = (
  requirement: Requirement,
  { binding, dedupKey, level, profile, seed }: Options,
  sight: ReadonlySet<Need>
): Plan => {
  const isListed = requirement.profile !== null && !profile.includes(requirement.profile)
  // One that is listed without its profile lacks what the profile takes, whatever the hooks could do.
  const missing = (isListed ? requirement.needs.at(-1) : requirement.needs.find((need) => !sight.has(need))) ?? null
  const adapt = <One extends Case>(cases: ReadonlyArray<One>, known = new Set<string>()): ReadonlyArray<One> =>
    distinct(
      missing === null
        ? cases.flatMap((one) => {
            const adapted = forBindings(one, binding)
            return adapted === null ? [] : [{ ...one, history: adapted.history }]
          })
        : [],
      known
    )
  const keysOf = (...cases: ReadonlyArray<Case>): Set<string> => new Set(cases.map(({ history }) => keyOf(history)))
  const given = adapt(casesOf(requirement, dedupKey, sight.has("effects")))
  const further = adapt(requirement.further, keysOf(...given))
  const sampled = adapt(missing === null ? draw(requirement.sampled, seed) : [], keysOf(...given, ...further))
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
    unsent: missing === null && given.length === 0 ? binding : null
  }
}

/** What is to be done for every selected requirement, and for those that are listed without their profile. */
export const plansOf = (options: Options, sight: ReadonlySet<Need>): ReadonlyArray<Plan> => {
  const { listed, selected } = select(options)
  return [...selected, ...listed].map((requirement) => planOf(requirement, options, sight))
}

/** Whether a run says anything of a requirement. */
export const concerns = ({ requirement, strengths }: Plan, { trace }: CaseRun): boolean =>
  requirement.examines === "all" || strengths.has(keyOf(trace.history))

const findings = new WeakMap<Trace, Map<Judge, Finding>>()

/** What a requirement's judgement says of a trace; it is not made again for the same trace. */
const judged = ({ judge: judgement }: Requirement, trace: Trace, terms: Terms): Finding => {
  const known = findings.get(trace) ?? new Map<Judge, Finding>()
  findings.set(trace, known)
  const before = known.get(judgement)
  if (before !== undefined) return before
  const finding = ((): Finding => {
    try {
      return judgement(trace, terms)
    } catch (cause) {
      // One requirement that can't be judged takes no other's verdict away.
      return thrown(cause)
    }
  })()
  known.set(judgement, finding)
  return finding
}

/** How much a breach of a history says at most: the least of requirement, case and operations. */
const strengthFor = ({ requirement, strengths }: Plan, history: History): Strength =>
  least(strengths.get(keyOf(history)) ?? requirement.strength, strengthOf(history.ops))

const weakened = (finding: Finding, strength: Strength): Finding =>
  finding.verdict === "FAIL" ? { ...finding, strength: least(finding.strength, strength) } : finding

/** What a run says of a requirement, its repeats considered. */
export interface Assessment {
  readonly finding: Finding
  /** The trace that the finding is about: of the run or of a repeat. */
  readonly trace: Trace
  /** A failure that may be an accident and has neither been repeated yet nor been seen in another case. */
  readonly suspect: boolean
}

const isLate = (finding: Finding): boolean => finding.verdict === "FAIL" && finding.timing

const mayBeAccident = (finding: Finding, { alone }: CaseRun): boolean =>
  isLate(finding) || (finding.verdict === "INCONCLUSIVE" && !finding.empty && !alone && finding.attempt !== null)

/**
 * Looks at one run of a case for one requirement.
 *
 * The strength of a breach is the least of four: the requirement's, the case's, the operations' (`strengthOf`), the
 * finding's. A breach that rests on a measured time is an accident until the same requirement is broken so in another
 * case that ran alone, or in a repeat. Only one that happened with others under way and passes alone is dropped.
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
    // Times are not judged where several histories run at once: what is right alone is right.
    if (!run.alone && repeated.verdict === "PASS") return { finding: repeated, trace, suspect: false }
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
  /** What decided the verdict; null where nothing did. */
  readonly decisive: {
    readonly run: CaseRun
    readonly trace: Trace
    readonly attempt: number | null
    readonly event: number | null
    readonly because: string
    readonly terms: Terms
  } | null
  readonly confirmed: Confirmed | null
  readonly cases: { readonly directed: number; readonly directedDone: number; readonly randomDone: number }
  /** Which of its cases were not done in full, and how much of them was. */
  readonly cutShort: ReadonlyArray<string>
  /** What a pass rests on and was not verified: the probe's upper range, how long memory was seen to last. */
  readonly caveats: ReadonlyArray<string>
  /** Whether it was left undecided for want of time, and of nothing else. */
  readonly lacksTime: boolean
}

/** Whether the receiver has acknowledged anything at all. */
export const acknowledgesAtAll = (runs: ReadonlyArray<CaseRun>, terms: Terms): boolean =>
  runs.some(({ trace }) => trace.attempts.some(({ exchange }) => read(exchange, terms) === "acknowledged"))

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
      return `${of - done} of ${of} events late for want of a free connection of the suite's own`
    case "steps":
      return `given up after ${done} of ${of} steps, for answers that did not come`
  }
}

const shortfallsOf = (runs: ReadonlyArray<CaseRun>): ReadonlyArray<string> =>
  runs.flatMap(({ title, trace: { shortfalls } }) =>
    shortfalls.length === 0 ? [] : [`${title}: ${shortfalls.map(shortfallInWords).join(", ")}`]
  )

const whyIncomplete = (
  { given, requirement }: Plan,
  done: number,
  { acknowledges, repeatable }: { readonly acknowledges: boolean; readonly repeatable: boolean },
  { how, message }: Ended
): Pick<Outcome, "observed" | "lacksTime"> => {
  const soFar = `${done} of ${given.length} cases done`
  const maxTime = repeatable ? "--max-time" : "maxTime"
  const untimely = (observed: string) => ({ observed, lacksTime: true })
  const hindered = (observed: string) => ({ observed, lacksTime: false })
  if ((how === "complete" || how === "time_up") && requirement.presumesAcknowledgement && !acknowledges)
    return hindered(
      "not tested: the receiver acknowledged no ordinary event, so nothing more can be said (see R-ACK-01)"
    )
  switch (how) {
    case "complete":
      return untimely(`there was no time for all of it (${maxTime}): ${soFar}`)
    case "time_up":
      return untimely(`the time was up (${maxTime}) with ${soFar}`)
    case "interrupted":
      return hindered(`interrupted with ${soFar}`)
    case "target_unusable":
      return hindered(`the receiver could not be reached or operated any more, with ${soFar}`)
    case "probe_unusable":
      return hindered(`not tested: the probe could not be used before all of it was done. ${message}`.trimEnd())
    case "stayed_down":
      return hindered("not tested: the receiver was killed and did not start again before all of it was done")
  }
}

interface Assessed extends Assessment {
  readonly run: CaseRun
  readonly whole: boolean
}

const passedInWords = ({ strengths }: Plan, assessed: ReadonlyArray<Assessed>): string => {
  const passed = assessed.flatMap(({ finding, trace }) => (finding.verdict === "PASS" ? [{ finding, trace }] : []))
  let [attempts, events, slowest] = [0, 0, 0]
  let [bulk, bulkSeen] = [0, 0]
  for (const { finding, trace } of passed) {
    attempts += finding.attempts.length
    events += finding.events
    for (const index of finding.attempts) slowest = Math.max(slowest, trace.attempts[index]?.exchange.elapsed ?? 0)
    if (finding.events === 0) continue
    for (const [event, sent] of trace.events.entries()) {
      if (!sent.bulk) continue
      bulk += 1
      if ((trace.effects[event] ?? null) !== null) bulkSeen += 1
    }
  }
  const done = new Set(assessed.map(({ run }) => keyOf(run.trace.history)))
  const left = [...strengths.keys()].filter((key) => !done.has(key)).length
  return [
    ...(attempts === 0 ? [] : [`${attempts} attempts, the slowest answered in ${millis(slowest)}`]),
    ...(events === 0 ? [] : [`the effects of ${events} events`]),
    ...(bulkSeen === bulk ? [] : [`${bulkSeen} of ${bulk} events that came in bulk were looked at`]),
    ...(left === 0 ? [] : [`${left} of ${strengths.size} histories left out`])
  ].join("; ")
}

/** The most cases that were cut short that a verdict names. */
const mostNamed = 3

const cutShortInWords = (all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.length === 0
    ? []
    : [
        `CUT SHORT ${all.slice(0, mostNamed).join("; ")}${all.length > mostNamed ? ` and ${all.length - mostNamed} more` : ""}`
      ]

/** How much is unusual about the attempts of a history. */
const variationsIn = ({ ops }: History): number => ops.reduce((sum, op) => sum + ("how" in op ? op.how.length : 0), 0)

/** Of several that are as short, the plainest: which of them was over first is chance. */
const shortest = (assessed: ReadonlyArray<Assessed>): Assessed | undefined =>
  assessed.toSorted(
    ({ trace: a }, { trace: b }) =>
      a.history.ops.length - b.history.ops.length ||
      a.attempts.length - b.attempts.length ||
      variationsIn(a.history) - variationsIn(b.history)
  )[0]

/** A probe is often a part of the receiver, and is gone with it. */
const isGone = ({ how }: Ended): boolean =>
  how === "target_unusable" || how === "probe_unusable" || how === "stayed_down"

/** A connection that broke while the receiver was dying is no fault of its own. */
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

/** Whether the evidence of a run is complete. Answers without effects are not, where the verdict needs effects. */
const isDone = ({ settled, whole }: CaseRun, { requirement: { needs: needed, provenBy } }: Plan): boolean =>
  whole && (settled || ![...needed, ...provenBy].some((need) => effectful.has(need)))

/** Whether the probe was seen to count past one: when asked to double, or of a double effect. */
export const countsPastOne = ({ calibration, runs }: Pick<Evidence, "runs" | "calibration">): boolean =>
  calibration?.double?.observed === 2 ||
  runs.some(({ trace }) => trace.effects.some((effects) => (effects?.most ?? 0) > 1))

/** Over how long, and over how many other events, an event was seen to be known again; null where none came again. */
export const memoryOf = ({
  runs,
  terms
}: Pick<Evidence, "runs" | "terms">): { readonly seconds: number; readonly ids: number } | null => {
  const known = { seconds: -1, ids: 0 }
  for (const { lane, settled, trace } of runs) {
    // Elsewhere an event comes again at once.
    if (!settled || (lane !== "aged" && lane !== "last")) continue
    const hasWaited = trace.history.ops.some(({ k }) => k === "age")
    const beginnings = new Map<number, number>()
    for (const [index, { event }] of trace.attempts.entries()) {
      if (!beginnings.has(event)) beginnings.set(event, index)
    }
    const placesOfNew = [...beginnings.values()]
    for (const { attempts, last, most, shared, state } of storiesOf(trace, terms)) {
      const [first, again] = [attempts[0], attempts.at(-1)]
      if (first === undefined || again === undefined || first === again) continue
      if (state !== "acknowledged" || last !== shared || most !== shared) continue
      const between = placesOfNew.filter((place) => place > first[0] && place < again[0]).length
      known.seconds = Math.max(known.seconds, Math.floor((again[1].started - first[1].started) / 1_000))
      known.ids = Math.max(known.ids, between + (hasWaited ? trace.otherEvents : 0))
    }
  }
  return known.seconds < 0 ? null : known
}

/** How far a memory of ids was seen to reach, in words. */
export const memoryInWords = ({ ids, seconds: span }: { readonly seconds: number; readonly ids: number }): string =>
  `memory was seen to last over ${span} s and ${ids.toLocaleString("en-US")} ids`

/** Whether a pass means that something did not happen twice. */
const restsOnOne = ({ id, needs: needed, provenBy }: Requirement): boolean =>
  /^R-(DUP|NEW|LATE|CRA)-/.test(id) && [...needed, ...provenBy].includes("effects")

type Known = Pick<Evidence, "runs" | "terms" | "calibration" | "refinements" | "strangers" | "repeatable">

const caveatsOf = (requirement: Requirement, known: Known): ReadonlyArray<string> => {
  const memory = requirement.id === "R-DUP-05" ? memoryOf(known) : null
  return [
    ...(known.calibration !== null && restsOnOne(requirement) && !countsPastOne(known)
      ? [
          `not verified: that the probe counts past one (${known.repeatable ? "--control-url" : "`double` of what `start` returns"} lets the suite see that)`
        ]
      : []),
    ...(memory === null ? [] : [memoryInWords(memory)])
  ]
}

/** The verdict on one requirement, from everything that was executed so far. */
export const judge = (plan: Plan, known: Known, ended: Ended): Outcome => {
  const { given, requirement, sampled } = plan
  const { refinements, runs, strangers, terms } = known
  const word = (need: Need): string => needs[need][known.repeatable ? "toGive" : "inTest"]
  const concerned = runs.filter((run) => concerns(plan, run))
  const done = new Set(concerned.filter((run) => isDone(run, plan)).map(({ trace }) => keyOf(trace.history)))
  const doneOf = (cases: ReadonlyArray<Case>): number => cases.filter(({ history }) => done.has(keyOf(history))).length
  const directedDone = doneOf(given)
  const cutShort = shortfallsOf(concerned.filter(({ trace }) => plan.strengths.has(keyOf(trace.history))))
  const refinement = refinements.find((one) => one.requirement === requirement.id)
  const outcome = (verdict: Verdict, observed: string, more: Partial<Outcome> = {}): Outcome => ({
    requirement,
    verdict,
    observed,
    decisive: null,
    confirmed: null,
    cases: { directed: given.length, directedDone, randomDone: doneOf(sampled) },
    cutShort,
    caveats: [],
    lacksTime: false,
    ...more
  })
  if (plan.missing !== null) return outcome("NOT_OBSERVABLE", `not seen: ${word(plan.missing)}`)
  if (plan.unsent !== null)
    return outcome("NOT_OBSERVABLE", `nothing of this is sent to a receiver bound to ${plan.unsent.join(" and ")}`)

  const assessed = concerned
    .map((run): Assessed => ({ ...assess(plan, run, concerned, terms), whole: isDone(run, plan), run }))
    .map((one) => (isGone(ended) ? sparingDeath(one) : one))
    // Of a history that was broken off, only what it proves counts.
    .filter(({ finding, whole }) => whole || finding.verdict === "FAIL" || finding.verdict === "ERROR")
  const isProven = ({ finding, suspect }: Assessed): boolean => finding.verdict === "FAIL" && !suspect
  const isWeak = ({ finding }: Assessed): boolean =>
    finding.verdict === "FAIL" && finding.strength !== requirement.strength && requirement.strength === "MUST"

  const decided = (one: Assessed, verdict: Verdict): Outcome => {
    const { run } = one
    // What stands for the failure is the shortest history that failed so by itself.
    const reproduced = refinement?.reproduced ?? null
    const again = reproduced === null ? null : judged(requirement, reproduced, terms)
    const [trace, finding] =
      isProven(one) && reproduced !== null && again?.verdict === "FAIL" ? [reproduced, again] : [one.trace, one.finding]
    const because = [...given, ...plan.further, ...sampled].find(
      ({ history }) => keyOf(history) === keyOf(run.trace.history)
    )?.because
    const observed = finding.verdict === "PASS" ? "" : finding.observed
    return outcome(verdict, one.suspect ? `${observed}; not confirmed by a repeat` : observed, {
      confirmed: isProven(one) ? (refinement?.confirmed ?? null) : null,
      decisive: {
        run,
        trace,
        attempt: finding.verdict === "PASS" ? null : finding.attempt,
        event: finding.verdict === "FAIL" ? finding.event : null,
        because: because ?? requirement.because,
        terms
      }
    })
  }
  const doubted = (found: Outcome): Outcome =>
    strangers.length === 0
      ? found
      : {
          ...found,
          verdict: "INCONCLUSIVE",
          observed: `${found.observed}; but ${strangersInWords(strangers)}: let no other sender use the receiver during a run`
        }

  const broken = shortest(assessed.filter((one) => isProven(one) && !isWeak(one)))
  if (broken !== undefined) return doubted(decided(broken, requirement.strength === "MUST" ? "FAIL" : "WARN"))
  const failed = assessed.find(({ finding }) => finding.verdict === "ERROR")
  if (failed !== undefined) return decided(failed, "ERROR")
  // What a case of less strength leaves open leaves the requirement as it is.
  const counted = assessed.filter(({ run }) => strengthFor(plan, run.trace.history) === requirement.strength)
  const open =
    counted.find(
      (one) =>
        (one.finding.verdict === "FAIL" && !isWeak(one)) ||
        (one.finding.verdict === "INCONCLUSIVE" && !one.finding.empty)
    ) ??
    (counted.some(({ finding }) => finding.verdict === "PASS" || finding.verdict === "FAIL")
      ? undefined
      : counted.find(({ finding }) => finding.verdict === "INCONCLUSIVE"))
  if (open !== undefined) return decided(open, "INCONCLUSIVE")
  if (directedDone < given.length) {
    const { lacksTime, observed } = whyIncomplete(
      plan,
      directedDone,
      { acknowledges: acknowledgesAtAll(runs, terms), repeatable: known.repeatable },
      ended
    )
    return outcome("INCONCLUSIVE", observed, { lacksTime })
  }
  const weak = shortest(assessed.filter(isProven))
  if (weak !== undefined) return doubted(decided(weak, "WARN"))
  const passed = [passedInWords(plan, assessed), ...cutShortInWords(cutShort)].filter((text) => text !== "").join("; ")
  return plan.unproven === null
    ? outcome("PASS", passed, { caveats: caveatsOf(requirement, known) })
    : outcome("NOT_OBSERVABLE", `nothing wrong in ${passed}, but not all of it was seen: ${word(plan.unproven)}`)
}

/** The verdicts of a run. */
export const outcomesOf = (evidence: Evidence): ReadonlyArray<Outcome> =>
  plansOf(evidence.options, sightOf(evidence)).map((plan) => judge(plan, evidence, evidence.ended))

/** What a run could see and do. */
export const sightOf = ({ calibration, given }: Pick<Evidence, "given" | "calibration">): ReadonlySet<Need> => {
  const isNeed = (name: string): name is Need => Object.hasOwn(needs, name)
  const sight = new Set(given.filter(isNeed))
  // Only the probe's own answers show whether it gives a digest.
  if (calibration?.digest === true && sight.has("effects")) sight.add("digest")
  else sight.delete("digest")
  return sight
}

const isBroken = ({ verdict }: Outcome): boolean => verdict === "FAIL" || verdict === "WARN"

const isBasic = ({ decisive }: Outcome): boolean => decisive !== null && decisive.trace.history.ops.every(isPlain)

/** What is out of the ordinary in the history that decided. */
const specialsOf = ({ decisive }: Outcome): ReadonlySet<string> =>
  new Set(decisive === null ? [] : decisive.trace.history.ops.filter((op) => !isPlain(op)).map(({ k }) => k))

/** Whether a requirement that examines all was broken by a history of the same kind as one with cases of its own. */
const isOfKind = (outcome: Outcome, cause: Outcome): boolean => {
  const { decisive, requirement } = outcome
  if (decisive === null || requirement.examines === "own" || cause.requirement.examines === "all") return false
  const specials = specialsOf(cause)
  return (
    [...specialsOf(outcome)].some((kind) => specials.has(kind)) &&
    judged(cause.requirement, decisive.trace, decisive.terms).verdict === "FAIL"
  )
}

/** Whether two requirements were broken by the same history, the other with less presupposed. */
const isSimpler = ({ decisive, requirement }: Outcome, cause: Outcome): boolean =>
  decisive !== null &&
  cause.decisive !== null &&
  requirement.examines === "own" &&
  cause.requirement.examines === "own" &&
  keyOf(decisive.trace.history) === keyOf(cause.decisive.trace.history) &&
  cause.requirement.presupposes.length < requirement.presupposes.length &&
  !cause.requirement.presupposes.includes(requirement.id)

/**
 * Ids of the broken requirements from which another probably follows: presupposed ones that fail on plain histories;
 * those with cases of their own where one that examines all was broken by such a case; those that the same history breaks
 * with fewer presuppositions. Changes no verdict.
 */
export const causesOf = (outcome: Outcome, all: ReadonlyArray<Outcome>): ReadonlyArray<Requirement["id"]> =>
  isBroken(outcome)
    ? all
        .filter(
          (one) =>
            one !== outcome &&
            isBroken(one) &&
            ((outcome.requirement.presupposes.includes(one.requirement.id) && isBasic(one)) ||
              isOfKind(outcome, one) ||
              isSimpler(outcome, one))
        )
        .map(({ requirement: { id } }) => id)
    : []
