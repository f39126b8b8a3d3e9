/**
 * What differs between the data that was sent and the data that is stored, member by member, every digit kept.
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

const mark = "\u0000number "

/** JSON with its numbers as they are written; undefined where the text is no JSON. */
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

/** Letters that look alike, or can't be seen, as their codes. */
const shown = (value: unknown): string => {
  const text = textOf(value, false)
  const visible = text.replaceAll(/[\u007f-\u00a0]|\p{Cf}|\p{Mn}/gu, (one) => {
    const code = one.codePointAt(0) ?? 0
    return `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`
  })
  return shownText(safeText(visible), longest)
}

/** How much is shown around the place where two long texts begin to differ, in letters. */
const around = 20
const lettersOf = (text: string): ReadonlyArray<string> => Array.from(text)

/** Of two long texts, the parts where they begin to differ. */
const partsThatDiffer = (sent: unknown, stored: unknown): readonly [sent: unknown, stored: unknown] => {
  if (!Predicate.isString(sent) || !Predicate.isString(stored) || isNumber(sent) || isNumber(stored)) {
    return [sent, stored]
  }
  const [before, after] = [lettersOf(sent), lettersOf(stored)]
  const different = before.findIndex((letter, place) => letter !== after[place])
  const from = Math.max(0, (different === -1 ? before.length : different) - around)
  const part = (letters: ReadonlyArray<string>): string =>
    letters.length <= 4 * around
      ? letters.join("")
      : `${from === 0 ? "" : "..."}${letters.slice(from, from + 3 * around).join("")}${letters.length > from + 3 * around ? "..." : ""}`
  return [part(before), part(after)]
}

const childrenOf = (value: unknown): ReadonlyMap<string, unknown> =>
  Array.isArray(value)
    ? new Map(value.map((one, place) => [`[${place}]`, one]))
    : new Map(
        Predicate.isObject(value)
          ? Object.entries(value).map(([name, one]) => [
              /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`,
              one
            ])
          : []
      )

const isOfOneKind = (a: unknown, b: unknown): boolean =>
  (Array.isArray(a) && Array.isArray(b)) ||
  (Predicate.isObject(a) && Predicate.isObject(b) && !Array.isArray(a) && !Array.isArray(b))

const between = (path: string, sent: unknown, stored: unknown): ReadonlyArray<Difference> => {
  if (textOf(sent, true) === textOf(stored, true)) return []
  if (!isOfOneKind(sent, stored)) {
    const [before, after] = partsThatDiffer(sent, stored)
    return [{ path, sent: shown(before), stored: shown(after) }]
  }
  const [before, after] = [childrenOf(sent), childrenOf(stored)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const child = `${path}${name}`
    if (!after.has(name)) return [{ path: child, sent: shown(before.get(name)), stored: missing }]
    if (!before.has(name)) return [{ path: child, sent: missing, stored: shown(after.get(name)) }]
    return between(child, before.get(name), after.get(name))
  })
}

/** The members of two JSON texts that differ, by their paths; none where one of them is no JSON. */
export const differencesOf = (sent: string, stored: string): ReadonlyArray<Difference> => {
  const [before, after] = [parse(sent), parse(stored)]
  return before === undefined || after === undefined ? [] : between("data", before, after)
}

/** The data of the event in a body that was sent, as JSON text; null where the body is no whole event. */
export const dataOf = (body: string): string | null => {
  const parsed = parse(body)
  const event = Predicate.hasProperty(parsed, "event") ? parsed.event : null
  return Predicate.hasProperty(event, "data") ? textOf(event.data, false) : null
}
