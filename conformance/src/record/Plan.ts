/**
 * What a run has to do for each requirement: its cases as the receiver's bindings leave them, how much a breach of each
 * says, and what it can't be tested without.
 */
import { forBindings, keyOf } from "../history/History.ts"
import type { Strength } from "../history/Forgeries.ts"
import type { Case, History } from "../history/History.ts"
import { strengthOf } from "../history/Operations.ts"
import { draw } from "../history/Samples.ts"
import type { Drawn } from "../history/Samples.ts"
import { select } from "../requirements/Catalogue.ts"
import { casesOf, needs } from "../requirements/Requirement.ts"
import type { Need, Requirement } from "../requirements/Requirement.ts"
import type { CaseRun, Evidence } from "./Evidence.ts"
import type { Options } from "./Options.ts"

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

export const least = (...strengths: ReadonlyArray<Strength>): Strength =>
  strengths.includes("SHOULD") ? "SHOULD" : "MUST"

const keysOf = (cases: ReadonlyArray<Case>): ReadonlySet<string> => new Set(cases.map(({ history }) => keyOf(history)))

const planOf = (
  requirement: Requirement,
  { binding, dedupKey, level, profile, seed }: Options,
  sight: ReadonlySet<Need>
): Plan => {
  const isListed = requirement.profile !== null && !profile.includes(requirement.profile)
  // One that is listed without its profile lacks what the profile takes, whatever the hooks could do.
  const missing = (isListed ? requirement.needs.at(-1) : requirement.needs.find((need) => !sight.has(need))) ?? null
  /** Each history once, without those that other cases have. */
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

/** What is to be done for every selected requirement, and for those that are listed without their profile. */
export const plansOf = (options: Options, sight: ReadonlySet<Need>): ReadonlyArray<Plan> => {
  const { listed, selected } = select(options)
  return [...selected, ...listed].map((requirement) => planOf(requirement, options, sight))
}

/** Whether a run says anything of a requirement. */
export const concerns = ({ requirement, strengths }: Plan, { trace }: CaseRun): boolean =>
  requirement.examines === "all" || strengths.has(keyOf(trace.history))

/** How much a breach of a history says at most: the least of requirement, case and operations. */
export const strengthFor = ({ requirement, strengths }: Plan, history: History): Strength =>
  least(strengths.get(keyOf(history)) ?? requirement.strength, strengthOf(history.ops))

/** What a run could see and do. */
export const sightOf = ({ calibration, given }: Pick<Evidence, "given" | "calibration">): ReadonlySet<Need> => {
  const isNeed = (name: string): name is Need => Object.hasOwn(needs, name)
  const sight = new Set(given.filter(isNeed))
  // Only the probe's own answers show whether it gives a digest.
  if (calibration?.digest === true && sight.has("effects")) sight.add("digest")
  else sight.delete("digest")
  return sight
}
