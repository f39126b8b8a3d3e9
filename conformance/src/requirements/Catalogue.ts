/**
 * Every requirement of this version, and the selection of a run.
 */
import { didYouMean } from "@doorhook/core"
import { acknowledging } from "./Acknowledgement.ts"
import { forwarding } from "./Content.ts"
import { crashing } from "./Crashes.ts"
import { duplicating, identity } from "./Duplicates.ts"
import { otherMethods, requesting } from "./Http.ts"
import { answeringLate, losing, ordering } from "./Losses.ts"
import type { Level, Profile, Requirement } from "./Requirement.ts"
import { signing } from "./Signatures.ts"

export const entriesOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts
    .flatMap((text) => text.split(","))
    .map((text) => text.trim())
    .filter((text) => text !== "")

/** In the order of reports. */
export const requirements: ReadonlyArray<Requirement> = [
  ...acknowledging,
  ...duplicating,
  ...identity,
  ...losing,
  ...answeringLate,
  ...crashing,
  ...ordering,
  ...forwarding,
  ...requesting,
  ...signing,
  ...otherMethods
]

/** The requirement of that id, in whatever case it is written. */
export const find = (id: string): Requirement | undefined =>
  requirements.find((requirement) => requirement.id === id.toUpperCase())

export interface Selection {
  readonly selected: ReadonlyArray<Requirement>
  /** Would have been selected but for `--skip`. */
  readonly skipped: ReadonlyArray<Requirement>
  /** Not selected for want of their profile, and listed all the same, so that nobody takes them for seen. */
  readonly listed: ReadonlyArray<Requirement>
}

const allIds: ReadonlyArray<string> = requirements.map(({ id }) => id)

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
  readonly profile: ReadonlyArray<Profile>
}

/** The requirements up to a level and of some profiles, of those `only` those, without the ones to `skip`. */
export const select = ({ level, only, profile: profiles, skip }: Asked): Selection => {
  const wanted = entriesOf(only)
  const unwanted = entriesOf(skip)
  const named = requirements
    .filter((requirement) => requirement.level <= level)
    .filter(({ id }) => wanted.length === 0 || wanted.some((pattern) => matches(id, pattern)))
  const hasProfile = ({ profile }: Requirement): boolean => profile === null || profiles.includes(profile)
  const isSkipped = ({ id }: Requirement): boolean => unwanted.some((pattern) => matches(id, pattern))
  const selected = named.filter((one) => hasProfile(one) && !isSkipped(one))
  return {
    selected,
    skipped: named.filter((one) => hasProfile(one) && isSkipped(one)),
    listed:
      selected.length === 0
        ? []
        : named.filter((one) => !hasProfile(one) && one.listedWithoutProfile && !isSkipped(one))
  }
}

/** An entry that means nothing, and what was meant or is there. */
const unmatched = (entry: string): string => {
  const meant = /[^\w*-]/.test(entry)
    ? "; only * is a wildcard, as in R-ACK-*, and commas separate several"
    : didYouMean(entry, entry.includes("*") ? [] : allIds)
  return `${entry} is no requirement${meant === "" ? `; there are ${ids()}` : meant}`
}

/**
 * What is wrong with the entries to select by: one that no requirement of this version has the name of, at whatever level
 * and in whatever profile. A run that ignored it would pass without what was asked for.
 */
export const misnamed = ({ only, skip }: Pick<Asked, "only" | "skip">): string | null => {
  const wrongIn = (texts: ReadonlyArray<string>): string | undefined =>
    entriesOf(texts).find((entry) => !allIds.some((id) => matches(id, entry)))
  const wanted = wrongIn(only)
  if (wanted !== undefined) return `--only: ${unmatched(wanted)}`
  const unwanted = wrongIn(skip)
  return unwanted === undefined ? null : `--skip: ${unmatched(unwanted)}`
}

/** What a requirement takes that a run does not have. */
const lackingFor = ({ level, profile: profiles }: Asked, { level: least, profile }: Requirement): string =>
  [
    ...(least > level ? [`--level ${least}`] : []),
    ...(profile !== null && !profiles.includes(profile) ? [`--profile ${profile}`] : [])
  ].join(" ")

/** Requirements that were asked for by entries of which the run has none, each with what it takes more. */
export const beyond = (asked: Asked): ReadonlyArray<string> => {
  const { selected, skipped } = select(asked)
  const has = [...selected, ...skipped]
  const entries = entriesOf(asked.only).filter((entry) => !has.some(({ id }) => matches(id, entry)))
  return requirements
    .filter(({ id }) => entries.some((entry) => matches(id, entry)))
    .map((requirement) => `${requirement.id} (${lackingFor(asked, requirement)})`)
}

/** Why nothing is selected, and what would be. */
export const whyNothing = (asked: Asked): string => {
  const { only } = asked
  const { skipped } = select(asked)
  if (skipped.length > 0) {
    return `Nothing was tested: --skip leaves out all that is selected (${skipped.map(({ id }) => id).join(", ")}).`
  }
  const wants = beyond(asked)
  if (wants.length === 0) {
    return `Nothing was tested: no requirement is called ${entriesOf(only).join(" or ")}. There are ${ids()}.`
  }
  return `Nothing was tested: what --only names is not part of this run. It takes more: ${wants.join(", ")}.`
}

/** Every id, for a message about one that does not exist. */
export const ids = (): string => allIds.join(", ")
