/**
 * JSON as text, to keep numbers that doubles would round. This module also has the canonical form of JSON (RFC 8785): a
 * probe returns the digest of this form for stored data.
 */
import { createHash } from "node:crypto"

/** Writes a string as JSON text, in the shortest form. */
export const string = (value: string): string => JSON.stringify(value)

/** Writes a string as JSON text with every character escaped, which means the same to every JSON reader. */
export const escapedString = (value: string): string =>
  `"${Array.from({ length: value.length }, (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`

/** A member of a JSON object: its name, and its value as raw JSON text. */
export type Member = readonly [name: string, value: string]

/** Writes an object with these members, in this order. */
export const object = (members: ReadonlyArray<Member>): string =>
  `{${members.map(([name, value]) => `${string(name)}:${value}`).join(",")}}`

/** Writes an array of these values. */
export const array = (values: ReadonlyArray<string>): string => `[${values.join(",")}]`

/** Changes only the whitespace of a JSON text, as a proxy or another serialiser might. */
export const reencode = (text: string): string => {
  let spaced = ""
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? ""
    if (!inString && /\s/.test(char)) continue
    spaced += char
    if (inString && char === "\\") spaced += text[++at] ?? ""
    else if (char === '"') inString = !inString
    else if (!inString && (char === "," || char === "{" || char === "[")) spaced += "\n "
    else if (!inString && char === ":") spaced += " "
  }
  return `${spaced}\n`
}

/** Escapes every character of the string values in a JSON text. */
export const escapeAll = (text: string): string =>
  text.replaceAll(/(:\s*)("(?:[^"\\]|\\.)*")/gu, (_, colon: string, quoted: string) => {
    const value: unknown = JSON.parse(quoted)
    return `${colon}${escapedString(String(value))}`
  })

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Returns the canonical form (RFC 8785) of a JSON value. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  // ECMAScript writes strings and numbers as RFC 8785 sections 3.2.2.2 and 3.2.2.3 require.
  if (!isRecord(value)) return JSON.stringify(value)
  // Sorted by UTF-16 code units (section 3.2.3), which is how `sort` compares.
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
}

/** Splits a number into its sign, its digits without zeros at either end, and the power of ten to multiply them by. */
const partsOf = (text: string): { readonly sign: string; readonly digits: string; readonly power: number } => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = `${whole}${fraction}`.replace(/^0+/, "")
  const digits = all.replace(/0+$/, "")
  if (digits === "") return { sign: "", digits: "0", power: 0 }
  return { sign, digits, power: Number(exponent) - fraction.length + (all.length - digits.length) }
}

/** Returns a number in a form that does not depend on how it was written. */
const formOf = (text: string): string => {
  const { digits, power, sign } = partsOf(text)
  return `${sign}${digits}e${power}`
}

/** Returns the nearest double in the form of `formOf`. A number beyond the range of doubles keeps its digits. */
export const nearestDouble = (text: string): string =>
  formOf(Number.isFinite(Number(text)) ? String(Number(text)) : text)

const isDouble = (text: string): boolean => Number.isFinite(Number(text)) && nearestDouble(text) === formOf(text)

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** Returns the numbers in a JSON text, each in the form of `formOf`. */
export const numbersOf = (text: string): ReadonlyArray<string> =>
  (text.match(tokens) ?? []).flatMap((token) => (token.startsWith('"') ? [] : [formOf(token)]))

/** Writes a number in full, without an exponent. */
const inFull = (text: string): string => {
  const { digits, power, sign } = partsOf(text)
  if (power >= 0) return `${sign}${digits}${"0".repeat(power)}`
  const padded = digits.padStart(1 - power, "0")
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`
}

const mark = "\u0000number "
const marked = /"\\u0000number ([^"]*)"/g

/**
 * Returns the canonical form of a JSON text with all digits of its numbers; null if doubles, which RFC 8785 uses, keep
 * all digits.
 */
const exactCanonical = (text: string): string | null => {
  let longer = false
  const held = text.replaceAll(tokens, (token) => {
    if (token.startsWith('"') || isDouble(token)) return token
    longer = true
    return JSON.stringify(mark + inFull(token))
  })
  return longer ? canonical(JSON.parse(held)).replaceAll(marked, "$1") : null
}

/** Parses JSON with numbers as marked strings, so that no digit is lost; undefined if the text is not JSON. */
export const parseExact = (text: string): unknown => {
  const held = text.replaceAll(tokens, (token) => (token.startsWith('"') ? token : JSON.stringify(mark + token)))
  try {
    return JSON.parse(held)
  } catch {
    return undefined
  }
}

/** Whether a value from `parseExact` is a number. */
export const isExactNumber = (value: unknown): value is string => typeof value === "string" && value.startsWith(mark)

/** Writes a value from `parseExact` as JSON text, in canonical form if `isCompared`. */
export const exactText = (value: unknown, isCompared = false): string => {
  if (isExactNumber(value)) {
    const written = value.slice(mark.length)
    return isCompared ? (exactCanonical(written) ?? canonical(JSON.parse(written))) : written
  }
  if (Array.isArray(value)) return array(value.map((one) => exactText(one, isCompared)))
  if (!isRecord(value)) return JSON.stringify(value) ?? "undefined"
  const names = isCompared ? Object.keys(value).toSorted() : Object.keys(value)
  return object(names.map((name) => [name, exactText(value[name], isCompared)]))
}

/** Swaps the case of every ASCII letter. */
export const inOtherCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()))

/** Returns the digest of a text in hex. */
export const hashOf = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest("hex")

const sha256 = (text: string): string => `sha256:${hashOf("sha256", text)}`

/** Returns `sha256:HEX` of the canonical form of a JSON text, in which numbers are IEEE doubles. */
export const digestOf = (text: string): string => sha256(canonical(JSON.parse(text)))

/** Returns the digest of a JSON text with all digits of its numbers; null if doubles can store all the numbers. */
export const exactDigestOf = (text: string): string | null => {
  const exact = exactCanonical(text)
  return exact === null ? null : sha256(exact)
}
