/**
 * Durations as people write them: `300ms`, `5s`, `2m`, `1h`, `3d`. One reader and one writer for every flag, setting
 * and scenario.
 */
import { Option, Schema, SchemaTransformation } from "effect"

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof units

const isUnit = (text: string): text is Unit => text in units

/** Milliseconds of a written duration; none when it is not one. Zero (`0s`) is a duration. */
export const parse = (text: string): Option.Option<number> => {
  const match = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text.trim())
  const unit = match?.[2]
  if (match === null || unit === undefined || !isUnit(unit)) return Option.none()
  const millis = Math.round(Number(match[1]) * units[unit])
  return Number.isSafeInteger(millis) ? Option.some(millis) : Option.none()
}

/** The shortest exact way to write a number of milliseconds: 90000 is `90s`, 120000 is `2m`. */
export const format = (millis: number): string => {
  const unit =
    (["d", "h", "m", "s"] as const).find((name) => millis >= units[name] && millis % units[name] === 0) ?? "ms"
  return `${millis / units[unit]}${unit}`
}

/** What to tell somebody whose duration could not be read. */
export const expected = "a duration like 300ms, 5s, 2m, 1h or 3d"

/** A written duration in a document, decoded to milliseconds. */
export const DurationText = Schema.String.check(
  Schema.makeFilter((text) => Option.isSome(parse(text)) || `must be ${expected}`)
).pipe(
  Schema.decodeTo(
    Schema.Finite,
    SchemaTransformation.transform({ decode: (text: string) => Option.getOrElse(parse(text), () => 0), encode: format })
  )
)
