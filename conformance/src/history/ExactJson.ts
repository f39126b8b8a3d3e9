/**
 * JSON whose numbers keep every digit, also those that no double holds.
 */
import { canonical } from "./Canonical.ts"

/** A number's digits without zeros at either end, and the power of ten that they are multiplied by. */
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

/** The nearest double in that form; what is beyond all doubles as it is. */
export const nearestDouble = (text: string): string =>
  formOf(Number.isFinite(Number(text)) ? String(Number(text)) : text)

const isDouble = (text: string): boolean => Number.isFinite(Number(text)) && nearestDouble(text) === formOf(text)

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** The numbers of a JSON text, each in one form. */
export const numbersOf = (text: string): ReadonlyArray<string> =>
  (text.match(tokens) ?? []).flatMap((token) => (token.startsWith('"') ? [] : [formOf(token)]))

/** Such a number in full: whole numbers in digits alone, others with a decimal point. */
const inFull = (text: string): string => {
  const { digits, power, sign } = partsOf(text)
  if (power >= 0) return `${sign}${digits}${"0".repeat(power)}`
  const padded = digits.padStart(1 - power, "0")
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`
}

const mark = "\u0000number "
const marked = /"\\u0000number ([^"]*)"/g

/** The canonical form of a JSON text with every digit of its numbers; null where RFC 8785, which has doubles, keeps them. */
export const exactCanonical = (text: string): string | null => {
  let longer = false
  const held = text.replaceAll(tokens, (token) => {
    if (token.startsWith('"') || isDouble(token)) return token
    longer = true
    return JSON.stringify(mark + inFull(token))
  })
  return longer ? canonical(JSON.parse(held)).replaceAll(marked, "$1") : null
}
