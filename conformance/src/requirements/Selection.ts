/**
 * Which requirements a run is about.
 */
import { requirements } from "./index.ts"
import type { Profile } from "./Profile.ts"
import type { Level, Requirement } from "./Requirement.ts"

export interface Selection {
  readonly selected: ReadonlyArray<Requirement>
  /** Would have been selected but for `--skip`. */
  readonly skipped: ReadonlyArray<Requirement>
}

/** Patterns in a list of flags, each several of them separated by commas. */
const patternsOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts
    .flatMap((text) => text.split(","))
    .map((text) => text.trim())
    .filter((text) => text !== "")

/** Whether an id is meant by a pattern, in which `*` stands for anything. */
export const matches = (id: string, pattern: string): boolean => {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[^A-Za-z0-9-]/g, "\\$&"))
  return new RegExp(`^${parts.join(".*")}$`, "i").test(id)
}

/** What a run is asked to test. */
export interface Asked {
  readonly level: Level
  /** Ids or patterns like `R-DUP-*`, each text several of them; none: all. */
  readonly only: ReadonlyArray<string>
  readonly skip: ReadonlyArray<string>
  readonly profiles: ReadonlyArray<Profile>
}

/** The requirements up to a level and of some profiles, of those `only` those, without the ones to `skip`. */
export const select = ({ level, only, profiles, skip }: Asked): Selection => {
  const wanted = patternsOf(only)
  const unwanted = patternsOf(skip)
  const named = requirements
    .filter((requirement) => requirement.level <= level)
    .filter(({ profile }) => profile === null || profiles.includes(profile))
    .filter(({ id }) => wanted.length === 0 || wanted.some((pattern) => matches(id, pattern)))
  const isSkipped = ({ id }: Requirement): boolean => unwanted.some((pattern) => matches(id, pattern))
  return { selected: named.filter((requirement) => !isSkipped(requirement)), skipped: named.filter(isSkipped) }
}

/** Why nothing is selected, and what would be. */
export const whyNothing = (asked: Asked): string => {
  const { level, only, profiles } = asked
  const { skipped } = select(asked)
  if (skipped.length > 0) {
    return `Nothing was tested: --skip leaves out all that is selected (${skipped.map(({ id }) => id).join(", ")}).`
  }
  const wanted = patternsOf(only)
  const named = requirements.filter(({ id }) => wanted.some((pattern) => matches(id, pattern)))
  if (named.length === 0) {
    return `Nothing was tested: no requirement is called ${wanted.join(" or ")}. There are ${ids()}.`
  }
  const wants = named.map(({ id, level: least, profile }) => {
    const lacking = [
      ...(least > level ? [`--level ${least}`] : []),
      ...(profile !== null && !profiles.includes(profile) ? [`--profile ${profile}`] : [])
    ]
    return `${id} (${lacking.join(" ")})`
  })
  return `Nothing was tested: what --only names is not part of this run. It takes more: ${wants.join(", ")}.`
}

/** The requirement of that id, in whatever case it is written. */
export const find = (id: string): Requirement | undefined =>
  requirements.find((requirement) => requirement.id === id.toUpperCase())

/** The ids, for whoever asked for one that does not exist. */
export const ids = (): string => requirements.map(({ id }) => id).join(", ")
