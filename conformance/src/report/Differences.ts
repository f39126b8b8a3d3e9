/**
 * What differs between the data that was sent and the stored data, member by member, with every digit kept.
 */
import { shownText } from "@doorhook/core"
import { Predicate } from "effect"
import { canonical, exactCanonical } from "../history/Json.ts"
import { safeText } from "./Redaction.ts"

export interface Difference {
  readonly path: string
  readonly sent: string
  readonly stored: string
}

/** Marks a text that stands for a number, so that no digit is lost. */
const mark = "\u0000number "

/** JSON with its numbers as they are written; undefined for other texts. */
const parse = (text: string): unknown => {
  const held = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : JSON.stringify(mark + token)
  )
  try {
    return JSON.parse(held)
  } catch {
    return undefined
  }
}

const isNumber = (value: unknown): value is string => Predicate.isString(value) && value.startsWith(mark)

/** A value as JSON text again; canonical where it is compared. */
const textOf = (value: unknown, isCompared: boolean): string => {
  if (isNumber(value)) {
    const written = value.slice(mark.length)
    return isCompared ? (exactCanonical(written) ?? canonical(JSON.parse(written))) : written
  }
  if (Array.isArray(value)) return `[${value.map((one) => textOf(one, isCompared)).join(",")}]`
  if (Predicate.isObject(value)) {
    const entries = Object.entries(value)
    const ordered = isCompared ? entries.toSorted(([a], [b]) => (a < b ? -1 : 1)) : entries
    return `{${ordered.map(([name, one]) => `${JSON.stringify(name)}:${textOf(one, isCompared)}`).join(",")}}`
  }
  return JSON.stringify(value) ?? "undefined"
}

const longest = 300
const missing = "(missing)"

/** A value on one line. Characters that look alike or can't be seen are shown as their codes. */
const shown = (value: unknown): string => {
  const visible = textOf(value, false).replaceAll(/[\u007f-\u00a0]|\p{Cf}|\p{Mn}/gu, (one) => {
    const code = one.codePointAt(0) ?? 0
    return `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`
  })
  return shownText(safeText(visible), longest)
}

/** How many characters are shown on either side of the place where two long texts begin to differ. */
const around = 20

/** Two texts; of long ones, the part where they begin to differ, and their lengths. */
const shownTexts = (sent: string, stored: string): Omit<Difference, "path"> => {
  const [before, after] = [Array.from(sent), Array.from(stored)]
  if (Math.max(before.length, after.length) <= 4 * around) return { sent: shown(sent), stored: shown(stored) }
  const different = before.findIndex((character, place) => character !== after[place])
  const from = Math.max(0, (different === -1 ? before.length : different) - around)
  const part = (all: ReadonlyArray<string>): string => {
    const to = from + 3 * around
    const text = `${from === 0 ? "" : "..."}${all.slice(from, to).join("")}${all.length > to ? "..." : ""}`
    return `${shown(text)} (${all.length} characters)`
  }
  return { sent: part(before), stored: part(after) }
}

const childrenOf = (value: object): ReadonlyMap<string, unknown> =>
  new Map(
    Object.entries(value).map(([name, one]) => [
      Array.isArray(value) ? `[${name}]` : /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`,
      one
    ])
  )

const isHolder = (value: unknown): value is object => Array.isArray(value) || Predicate.isObject(value)

const between = (path: string, sent: unknown, stored: unknown): ReadonlyArray<Difference> => {
  if (textOf(sent, true) === textOf(stored, true)) return []
  if (Predicate.isString(sent) && Predicate.isString(stored) && !isNumber(sent) && !isNumber(stored))
    return [{ path, ...shownTexts(sent, stored) }]
  if (!isHolder(sent) || !isHolder(stored) || Array.isArray(sent) !== Array.isArray(stored)) {
    return [{ path, sent: shown(sent), stored: shown(stored) }]
  }
  const [before, after] = [childrenOf(sent), childrenOf(stored)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const child = `${path}${name}`
    if (!after.has(name)) return [{ path: child, sent: shown(before.get(name)), stored: missing }]
    if (!before.has(name)) return [{ path: child, sent: missing, stored: shown(after.get(name)) }]
    return between(child, before.get(name), after.get(name))
  })
}

/** The members of two JSON texts that differ, by their paths; none if one of them is no JSON. */
export const differencesOf = (sent: string, stored: string): ReadonlyArray<Difference> => {
  const [before, after] = [parse(sent), parse(stored)]
  return before === undefined || after === undefined ? [] : between("data", before, after)
}

/** The data of the event in a body, as JSON text; null if the body is no whole event. */
export const dataOf = (body: string): string | null => {
  const parsed = parse(body)
  const event = Predicate.hasProperty(parsed, "event") ? parsed.event : null
  return Predicate.hasProperty(event, "data") ? textOf(event.data, false) : null
}
