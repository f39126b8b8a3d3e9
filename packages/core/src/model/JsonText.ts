/**
 * JSON values in text form.
 *
 * `JSON.parse` rounds long numbers, reorders members named like array indexes and drops repeated ones. Receivers must
 * get what the host published, so the text of `data` is cut out of the request and never rebuilt.
 */
import { Option, Schema } from "effect"

/** The text of one JSON object, verbatim. */
export const JsonText = Schema.String.pipe(Schema.brand("JsonText"))
export type JsonText = typeof JsonText.Type

/** Matches a text that JavaScript engines store with two bytes for each character instead of one. */
const isWide = /[^\0-\xff]/

/** Returns the memory of a text, in bytes. */
export const bytesOf = (text: string): number => (isWide.test(text) ? 2 : 1) * text.length

/** Checks that a text is a JSON object, and brands it. */
export const fromObjectText = (text: string): Option.Option<JsonText> => {
  if (!text.trimStart().startsWith("{")) return Option.none()
  try {
    JSON.parse(text)
    return Option.some(JsonText.make(text))
  } catch {
    return Option.none()
  }
}

/** A member of a JSON object, with the position of its value in the text. `end` is exclusive. */
interface Member {
  readonly name: unknown
  readonly start: number
  readonly end: number
}

const isSpace = (text: string, at: number): boolean => " \t\n\r".includes(text[at] ?? "x")

const skipSpace = (text: string, from: number): number => {
  let at = from
  while (at < text.length && isSpace(text, at)) at++
  return at
}

/** Returns the end of the string that opens at `from`. */
const skipString = (text: string, from: number): number => {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1
  return at + 1
}

/** Returns the end of the value that starts at `from`. The text must be valid JSON. */
const skipValue = (text: string, from: number): number => {
  let depth = 0
  let at = from
  while (at < text.length) {
    const char = text[at]
    if (char === '"') at = skipString(text, at)
    else {
      if (depth === 0 && (char === "," || char === "}" || char === "]" || isSpace(text, at))) return at
      if (char === "{" || char === "[") depth++
      else if (char === "}" || char === "]") depth--
      at++
    }
    if (depth === 0 && (char === '"' || char === "}" || char === "]")) return at
  }
  return at
}

/** Returns the members of a JSON object, in order; none if the text is not an object. The text must be valid JSON. */
const membersIn = (text: string): ReadonlyArray<Member> => {
  const found: Array<Member> = []
  let at = skipSpace(text, 0)
  if (text[at] !== "{") return []
  at = skipSpace(text, at + 1)
  while (text[at] === '"') {
    const keyEnd = skipString(text, at)
    const name: unknown = JSON.parse(text.slice(at, keyEnd))
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = skipValue(text, start)
    found.push({ name, start, end })
    at = skipSpace(text, end)
    if (text[at] !== ",") break
    at = skipSpace(text, at + 1)
  }
  return found
}

/**
 * Returns the values of all members with this name in a JSON object, in order. A repeated name has several values. The
 * result is empty if the text is not an object. The text must be valid JSON.
 */
export const membersNamed = (text: string, name: string): ReadonlyArray<JsonText> =>
  membersIn(text).flatMap((member) =>
    member.name === name ? [JsonText.make(text.slice(member.start, member.end))] : []
  )

/** Replaces the values of the members with these names by null. All other characters stay as they are. */
export const withNulls = (text: JsonText, names: ReadonlyArray<string>): JsonText => {
  if (names.length === 0) return text
  let [kept, from] = ["", 0]
  for (const { end, name, start } of membersIn(text)) {
    if (!names.some((one) => one === name)) continue
    kept += `${text.slice(from, start)}null`
    from = end
  }
  return from === 0 ? text : JsonText.make(kept + text.slice(from))
}

/**
 * Returns the elements of a JSON array, each as text. The result is empty if the text is not an array. The text must be
 * valid JSON.
 */
export const elementsOf = (text: string): ReadonlyArray<JsonText> => {
  const found: Array<JsonText> = []
  let at = skipSpace(text, 0)
  if (text[at] !== "[") return []
  at = skipSpace(text, at + 1)
  while (at < text.length && text[at] !== "]") {
    const end = skipValue(text, at)
    found.push(JsonText.make(text.slice(at, end)))
    at = skipSpace(text, end)
    if (text[at] === ",") at = skipSpace(text, at + 1)
  }
  return found
}
