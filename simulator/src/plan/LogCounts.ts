/** What was counted while a recorded log was read: values and their meanings, rows not understood, and signs of late upload. */
import { columns } from "@doorhook/core"
import { counted, grouped } from "../results/Format.ts"
import { minute } from "../world/LocalTime.ts"

/** Maximum number of problems and of values to describe. */
const mostDescribed = 3
const mostValues = 40

/** Returns a 53-bit hash of a text, so that a log of a million rows can be searched for repetitions. */
const hashOf = (text: string): number => {
  let [high, low] = [0x9747_b28c, 0x811c_9dc5]
  for (let at = 0; at < text.length; at++) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x0100_0193)
    high = Math.imul(high ^ (low >>> 11) ^ text.charCodeAt(at), 0x85eb_ca6b)
  }
  return (high >>> 11) * 0x1_0000_0000 + (low >>> 0)
}

export class LogCounts {
  rows = 0
  /** Rows with the same content as an earlier one. */
  repeated = 0
  /** Rows with an earlier time than a row before them, and those of them that came more than a minute late. */
  outOfOrder = 0
  late = 0
  /** Whether the rows were so disordered that they were sorted by time. */
  isSorted = false
  problemCount = 0
  readonly problems: Array<{ readonly line: number; readonly detail: string }> = []
  readonly #values = new Map<
    string,
    { readonly column: string; readonly value: string; readonly meaning: string | null; count: number }
  >()
  readonly #contents = new Set<number>()

  value(column: string, value: string, meaning: string | null): void {
    const key = `${column} ${value}`
    const known = this.#values.get(key) ?? { column, value, meaning, count: 0 }
    known.count++
    this.#values.set(key, known)
  }

  notUnderstood(line: number, detail: string): void {
    this.problemCount++
    if (this.problems.length < mostDescribed) this.problems.push({ line, detail })
  }

  /** Counts a row by its content. */
  content(text: string): void {
    this.rows++
    if (this.#contents.size === this.#contents.add(hashOf(text)).size) this.repeated++
  }

  /** Counts a row by its time. `latest` is the latest time of the rows before it. */
  time(time: number, latest: number): void {
    if (time < latest) this.outOfOrder++
    if (time < latest - minute) this.late++
  }

  /** Describes the counts, one per line. */
  lines(): ReadonlyArray<string> {
    const values = [...this.#values.values()].toSorted((a, b) => b.count - a.count)
    const more = values.length - mostValues
    return [
      ...(values.length === 0
        ? []
        : columns(
            [
              ["column", "value", "rows", "taken for"],
              ...values
                .slice(0, mostValues)
                .map(({ column, count, meaning, value }) => [
                  column,
                  JSON.stringify(value),
                  grouped(count),
                  meaning ?? (column === "method" || column === "purpose" ? "itself" : "NOT UNDERSTOOD")
                ])
            ],
            [2]
          )),
      ...(more > 0 ? [`and ${counted(more, "more value")}`] : []),
      `${counted(this.rows, "row")}; ${grouped(this.repeated)} repeated, ${grouped(this.outOfOrder)} out of order, ${grouped(this.late)} uploaded more than a minute late${this.isSorted ? "; sorted by time, because too many rows were out of order" : ""}`,
      ...(this.problemCount === 0
        ? []
        : [
            `${counted(this.problemCount, "row")} NOT UNDERSTOOD and left out:`,
            ...this.problems.map(({ detail, line }) => `  line ${line}: ${detail}`)
          ])
    ]
  }
}
