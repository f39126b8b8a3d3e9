/**
 * Text for terminals: a line that is overwritten to show progress, tables, and untrusted texts made safe.
 */
import { Effect, Stdio, Terminal, Context } from "effect"

/** A carriage return, and the sequence that erases the line (ECMA-48). */
const restart = "\r\u001b[2K"

export interface TerminalLine {
  /** Replaces the shown text. */
  readonly draw: (text: string) => Effect.Effect<void>
  /** Erases the line before other output. */
  readonly clear: Effect.Effect<void>
}

/** The line on standard output; null if standard output is not a terminal. */
export const terminalLine: Effect.Effect<TerminalLine | null, never, Stdio.Stdio | Terminal.Terminal> = Effect.gen(
  function* () {
    const stdio = yield* Stdio.Stdio
    const terminal = yield* Terminal.Terminal
    if (!(yield* stdio.stdoutIsTerminal)) return null
    // Writing to a closed terminal must not make the command fail.
    const display = (text: string) => Effect.ignore(terminal.display(text))
    return {
      // The text is cut to the terminal's width, because a wrapped line could not be overwritten. Some terminals report
      // no width.
      draw: (text) =>
        Effect.flatMap(terminal.columns, (columns) =>
          display(restart + (columns > 0 ? text.slice(0, columns - 1) : text))
        ),
      clear: display(restart)
    }
  }
)

/** The space between two columns. */
const gap = "  "

/**
 * Formats each row as a line. Columns whose index is in `toTheRight` are right-aligned, as for numbers. The last cell
 * of a row may have any length.
 */
export const columns = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  toTheRight: ReadonlyArray<number> = []
): ReadonlyArray<string> => {
  const widths: Array<number> = []
  for (const row of rows) {
    row.forEach((cell, at) => {
      // The last cell of a row does not affect the width of its column.
      if (at < row.length - 1) widths[at] = Math.max(widths[at] ?? 0, cell.length)
    })
  }
  const placed = (cell: string, at: number): string =>
    toTheRight.includes(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)
  return rows.map((row) => row.map(placed).join(gap).trimEnd())
}

/** Command annotation that maps the first flag of each group (without its dashes) to the group's heading. */
export const FlagGroups: Context.Reference<Readonly<Record<string, string>>> = Context.Reference(
  "@doorhook/core/FlagGroups",
  { defaultValue: () => ({}) }
)

/** Returns `1 user` or `2 users`. `many` is the plural, needed if it is not `one` with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/**
 * Control and format characters, and line ends. Such characters could move a cursor, hide text or reverse the direction
 * of text.
 */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** Returns a text on one line, without characters that control a terminal. */
export const onOneLine = (text: string): string => text.replaceAll(steering, " ")

/** Like `onOneLine`, but also trims the text and cuts it to `length`. */
export const shownText = (text: string, length: number): string => {
  const line = onOneLine(text).trim()
  return line.length > length ? `${line.slice(0, length)}...` : line
}

const escapeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * Escapes the characters of a JSON text that control a terminal, which does not change its value. White space between
 * tokens stays.
 */
export const escapedJson = (json: string): string =>
  json.replaceAll(/(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => found.split("").map(escapeOf).join(""))

/** Returns a value as JSON on several lines, escaped. */
export const shownJson = (value: unknown): string => escapedJson(JSON.stringify(value, null, 2))
