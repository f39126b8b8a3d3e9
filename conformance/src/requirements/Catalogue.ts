/**
 * All requirements of this version, and the selection of those that a run tests.
 */
import { didYouMean } from "@doorhook/core"
import { ackRequirements } from "./Acknowledgement.ts"
import { contentRequirements } from "./Content.ts"
import { crashRequirements } from "./Crashes.ts"
import { duplicateRequirements, identityRequirements } from "./Duplicates.ts"
import { methodRequirements, httpRequirements } from "./Http.ts"
import { lateRequirements, lossRequirements, orderRequirements } from "./Losses.ts"
import type { Level, Profile, Requirement } from "./Requirement.ts"
import { signatureRequirements } from "./Signatures.ts"

export const entriesOf = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts
    .flatMap((text) => text.split(","))
    .map((text) => text.trim())
    .filter((text) => text !== "")

/** All built-in requirements, in the order of reports. */
export const requirements: ReadonlyArray<Requirement> = [
  ...ackRequirements,
  ...duplicateRequirements,
  ...identityRequirements,
  ...lossRequirements,
  ...lateRequirements,
  ...crashRequirements,
  ...orderRequirements,
  ...contentRequirements,
  ...httpRequirements,
  ...signatureRequirements,
  ...methodRequirements
]

/** Requirements of the user, which `--rules` adds once, before anything else. */
const own: Array<Requirement> = []

export const addRequirements = (added: ReadonlyArray<Requirement>): void => {
  own.splice(0, own.length, ...added)
}

/** Returns the built-in requirements and those of the user. */
export const allRequirements = (): ReadonlyArray<Requirement> => [...requirements, ...own]

/** Returns the requirement with an id, in upper or lower case. */
export const find = (id: string): Requirement | undefined =>
  allRequirements().find((requirement) => requirement.id === id.toUpperCase())

export interface Selection {
  readonly selected: ReadonlyArray<Requirement>
  /** Selected, but left out by `--skip`. */
  readonly skipped: ReadonlyArray<Requirement>
  /** Not selected because their profile was not requested; reported as not observable. */
  readonly listed: ReadonlyArray<Requirement>
}

const allIds = (): ReadonlyArray<string> => allRequirements().map(({ id }) => id)

/** Whether an id matches a pattern with `*` for any text. */
export const matches = (id: string, pattern: string): boolean => {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[^A-Za-z0-9-]/g, "\\$&"))
  return new RegExp(`^${parts.join(".*")}$`, "i").test(id)
}

/** The flags that select requirements. */
export interface SelectionOptions {
  readonly level: Level
  /** Ids or patterns like `R-DUP-*`, or comma-separated lists of these; empty for all. */
  readonly only: ReadonlyArray<string>
  readonly skip: ReadonlyArray<string>
  readonly profile: ReadonlyArray<Profile>
}

/**
 * Selects the requirements of this level or lower that need no profile, or a profile in `profile`. If `only` is not
 * empty, keeps only the requirements that it names. Leaves out the requirements that `skip` names.
 */
export const select = ({ level, only, profile: profiles, skip }: SelectionOptions): Selection => {
  const wanted = entriesOf(only)
  const unwanted = entriesOf(skip)
  const named = allRequirements()
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

/** Returns the message about an unknown entry, with a suggestion. */
const unmatched = (entry: string): string => {
  const meant = /[^\w*-]/.test(entry)
    ? "; only * is a wildcard, as in R-ACK-*, and commas separate ids"
    : didYouMean(entry, entry.includes("*") ? [] : allIds())
  return `${entry} is no requirement${meant === "" ? `; there are ${ids()}` : meant}`
}

/**
 * Returns a message about an entry that matches no requirement of this version, at any level and in any profile; null
 * if all match. A run that ignored such an entry would pass without testing what it names.
 */
export const selectionFlaw = ({ only, skip }: Pick<SelectionOptions, "only" | "skip">): string | null => {
  const wrongIn = (texts: ReadonlyArray<string>): string | undefined =>
    entriesOf(texts).find((entry) => !allIds().some((id) => matches(id, entry)))
  const wanted = wrongIn(only)
  if (wanted !== undefined) return `--only: ${unmatched(wanted)}`
  const unwanted = wrongIn(skip)
  return unwanted === undefined ? null : `--skip: ${unmatched(unwanted)}`
}

/** Returns the flags that a requirement needs and the run lacks. */
const lackingFor = ({ level, profile: profiles }: SelectionOptions, { level: least, profile }: Requirement): string =>
  [
    ...(least > level ? [`--level ${least}`] : []),
    ...(profile !== null && !profiles.includes(profile) ? [`--profile ${profile}`] : [])
  ].join(" ")

/** Lists requirements that `only` names but the run does not test, each with the missing flags. */
export const outOfReach = (asked: SelectionOptions): ReadonlyArray<string> => {
  const { selected, skipped } = select(asked)
  const has = [...selected, ...skipped]
  const entries = entriesOf(asked.only).filter((entry) => !has.some(({ id }) => matches(id, entry)))
  return allRequirements()
    .filter(({ id }) => entries.some((entry) => matches(id, entry)))
    .map((requirement) => `${requirement.id} (${lackingFor(asked, requirement)})`)
}

/** Says why no requirement is selected, and which flags would select one. */
export const whyNothing = (asked: SelectionOptions): string => {
  const { only } = asked
  const { skipped } = select(asked)
  if (skipped.length > 0) {
    return `Nothing was tested: --skip leaves out everything selected (${skipped.map(({ id }) => id).join(", ")}).`
  }
  const wants = outOfReach(asked)
  if (wants.length === 0) {
    return `Nothing was tested: no requirement is called ${entriesOf(only).join(" or ")}. The ids are ${ids()}.`
  }
  return `Nothing was tested: this run does not include the requirements that --only names. They need more: ${wants.join(", ")}.`
}

/** Lists every id, for a message about an unknown id. */
export const ids = (): string => allIds().join(", ")
