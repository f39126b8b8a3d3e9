/**
 * Durations as people write them: `300ms`, `5s`, `2m`, `1h`, `3d`. One reader and one writer for every flag, setting
 * and scenario.
 */
import { Option, Result, Schema, SchemaTransformation } from "effect"

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof units

const isUnit = (text: string): text is Unit => text in units

/** Ten years, in milliseconds. A longer span is a slip of the pen, and what is due after it may be due at no time there is. */
export const longest = 3_650 * units.d

/** The shortest exact way to write a number of milliseconds: 90000 is `90s`, 120000 is `2m`. */
export const format = (millis: number): string => {
  const unit =
    (["d", "h", "m", "s"] as const).find((name) => millis >= units[name] && millis % units[name] === 0) ?? "ms"
  return `${millis / units[unit]}${unit}`
}

/** What to tell somebody whose duration could not be read. */
export const expected = "a duration like 300ms, 5s, 2m, 1h or 3d"

/** Milliseconds of a written duration, or what it should have been. Zero (`0s`) is a duration. */
export const read = (text: string): Result.Result<number, string> => {
  const match = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text.trim())
  const unit = match?.[2]
  if (match === null || unit === undefined || !isUnit(unit)) return Result.fail(expected)
  const millis = Math.round(Number(match[1]) * units[unit])
  return millis <= longest ? Result.succeed(millis) : Result.fail(`a duration of at most ${format(longest)}`)
}

/** Milliseconds of a written duration; none when it is not one, or too long. */
export const parse = (text: string): Option.Option<number> => Result.getSuccess(read(text))

/** A written duration in a document, decoded to milliseconds. */
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
