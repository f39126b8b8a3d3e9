/**
 * Durations in text form: `300ms`, `5s`, `2m`, `1h`, `3d`. All flags, settings and scenarios use this parser and
 * formatter.
 */
import { Option, Result, Schema, SchemaTransformation } from "effect"

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof units

const isUnit = (text: string): text is Unit => text in units

/** Ten years, in milliseconds. A longer duration is probably a mistake and could exceed the range of dates. */
export const longest = 3_650 * units.d

/** Formats milliseconds exactly, with the largest possible unit: 90000 is `90s`, 120000 is `2m`. */
export const format = (millis: number): string => {
  const unit =
    (["d", "h", "m", "s"] as const).find((name) => millis >= units[name] && millis % units[name] === 0) ?? "ms"
  return `${millis / units[unit]}${unit}`
}

/** The accepted form, for messages. */
export const expected = "a duration like 300ms, 5s, 2m, 1h or 3d"

/** Parses a duration to milliseconds, or returns what was expected. Zero (`0s`) is valid. */
export const read = (text: string): Result.Result<number, string> => {
  const match = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text.trim())
  const unit = match?.[2]
  if (match === null || unit === undefined || !isUnit(unit)) return Result.fail(expected)
  const millis = Math.round(Number(match[1]) * units[unit])
  return millis <= longest ? Result.succeed(millis) : Result.fail(`a duration of at most ${format(longest)}`)
}

/** Parses a duration to milliseconds; none if it is invalid or too long. */
export const parse = (text: string): Option.Option<number> => Result.getSuccess(read(text))

/** A duration in a document, decoded to milliseconds. */
export const DurationText = Schema.String.check(
  Schema.makeFilter((text) =>
    Result.match(read(text), { onSuccess: () => true, onFailure: (wanted) => `must be ${wanted}` })
  )
).pipe(
  Schema.decodeTo(
    Schema.Finite,
    SchemaTransformation.transform({ decode: (text: string) => Option.getOrElse(parse(text), () => 0), encode: format })
  )
)
