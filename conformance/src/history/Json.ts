/**
 * JSON as text: written without passing a number through a double, and in the canonical form (RFC 8785), whose digest a probe
 * returns for stored data. Without Effect: the bundled receivers load it at each start.
 */
import { createHash } from "node:crypto"

/** A string as JSON text, in the shortest form. */
export const string = (value: string): string => JSON.stringify(value)

/** A string as JSON text with every character escaped: the same value to any JSON reader. */
export const escapedString = (value: string): string =>
  `"${Array.from({ length: value.length }, (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`

/** A member of a JSON object: its name, and its value as raw JSON text. */
export type Member = readonly [name: string, value: string]

/** An object of these members, in this order. */
export const object = (members: ReadonlyArray<Member>): string =>
  `{${members.map(([name, value]) => `${string(name)}:${value}`).join(",")}}`

/** An array of these values. */
export const array = (values: ReadonlyArray<string>): string => `[${values.join(",")}]`

/** The same JSON with other whitespace, as after a proxy or another serialiser. */
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

/** The same JSON with every character of its string values escaped. */
export const escapeAll = (text: string): string =>
  text.replaceAll(/(:\s*)("(?:[^"\\]|\\.)*")/gu, (_, colon: string, quoted: string) => {
    const value: unknown = JSON.parse(quoted)
    return `${colon}${escapedString(String(value))}`
  })

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The canonical form (RFC 8785) of a value that JSON can hold. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  // ECMAScript writes strings and numbers as RFC 8785 sections 3.2.2.2 and 3.2.2.3 ask for.
  if (!isRecord(value)) return JSON.stringify(value)
  // Sorted by UTF-16 code units (section 3.2.3), which is how `sort` compares.
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
}

/** A number's digits without zeros at either end, and the power of ten to multiply them by. */
const partsOf = (text: string): { readonly sign: string; readonly digits: string; readonly power: number } => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = `${whole}${fraction}`.replace(/^0+/, "")
  const digits = all.replace(/0+$/, "")
  if (digits === "") return { sign: "", digits: "0", power: 0 }
  return { sign, digits, power: Number(exponent) - fraction.length + (all.length - digits.length) }
}

/** A number in one form, however it is written. */
const formOf = (text: string): string => {
  const { digits, power, sign } = partsOf(text)
  return `${sign}${digits}e${power}`
}

/** The nearest double in that form; a number beyond all doubles unchanged. */
export const nearestDouble = (text: string): string =>
  formOf(Number.isFinite(Number(text)) ? String(Number(text)) : text)

const isDouble = (text: string): boolean => Number.isFinite(Number(text)) && nearestDouble(text) === formOf(text)

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** The numbers of a JSON text, each in one form. */
export const numbersOf = (text: string): ReadonlyArray<string> =>
  (text.match(tokens) ?? []).flatMap((token) => (token.startsWith('"') ? [] : [formOf(token)]))

/** A number in full: whole numbers as digits, others with a decimal point. */
const inFull = (text: string): string => {
  const { digits, power, sign } = partsOf(text)
  if (power >= 0) return `${sign}${digits}${"0".repeat(power)}`
  const padded = digits.padStart(1 - power, "0")
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`
}

const mark = "\u0000number "
const marked = /"\\u0000number ([^"]*)"/g

/** The canonical form of a JSON text with every digit of its numbers; null if RFC 8785, which has doubles, keeps them all. */
const exactCanonical = (text: string): string | null => {
  let longer = false
  const held = text.replaceAll(tokens, (token) => {
    if (token.startsWith('"') || isDouble(token)) return token
    longer = true
    return JSON.stringify(mark + inFull(token))
  })
  return longer ? canonical(JSON.parse(held)).replaceAll(marked, "$1") : null
}

/** JSON with its numbers as marked strings, so that no digit is lost; undefined if the text is no JSON. */
export const parseExact = (text: string): unknown => {
  const held = text.replaceAll(tokens, (token) => (token.startsWith('"') ? token : JSON.stringify(mark + token)))
  try {
    return JSON.parse(held)
  } catch {
    return undefined
  }
}

/** Whether a value of `parseExact` is a number. */
export const isExactNumber = (value: unknown): value is string => typeof value === "string" && value.startsWith(mark)

/** A value of `parseExact` as JSON text; canonical if it is compared. */
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

/** A text with every ASCII letter in the other case. */
export const inOtherCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()))

/** The digest of a text, in hex. */
export const hashOf = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest("hex")

const sha256 = (text: string): string => `sha256:${hashOf("sha256", text)}`

/** `sha256:HEX` of the canonical form of a JSON text. Numbers are IEEE doubles in it. */
export const digestOf = (text: string): string => sha256(canonical(JSON.parse(text)))

/** The same with every digit of its numbers; null if doubles hold them all. */
export const exactDigestOf = (text: string): string | null => {
  const exact = exactCanonical(text)
  return exact === null ? null : sha256(exact)
}
