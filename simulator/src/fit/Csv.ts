/**
 * CSV as RFC 4180 has it, and as spreadsheets write it: commas, semicolons or tabs, with or without a byte order mark, and with
 * lines that end as they did on any system.
 */

export interface CsvRow {
  /** The line in the file on which the row begins, from 1. */
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

const delimiters = [",", ";", "\t", "|"] as const

/** The delimiter that the first line has most of. */
export const delimiterOf = (text: string): string => {
  const [first = ""] = text.split(/[\r\n]/, 1)
  const counts = delimiters.map((sign) => [sign, first.split(sign).length] as const)
  return counts.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? ","
}

/** The rows of a CSV text; empty lines are left out. */
export function* csvRows(text: string, delimiter: string): IterableIterator<CsvRow> {
  const source = text.replace(/^\ufeff/, "").replaceAll(/\r\n?/g, "\n")
  let cells: Array<string> = []
  let cell = ""
  let [isQuoted, line, begin] = [false, 1, 1]
  for (let at = 0; at <= source.length; at++) {
    const sign = source[at] ?? "\n"
    if (isQuoted && at < source.length) {
      if (sign === "\n") line++
      if (sign !== '"') cell += sign
      else if (source[at + 1] === '"') {
        cell += '"'
        at++
      } else isQuoted = false
    } else if (sign === '"' && cell.trim() === "") {
      isQuoted = true
      cell = ""
    } else if (sign === delimiter) {
      cells.push(cell.trim())
      cell = ""
    } else if (sign === "\n") {
      cells.push(cell.trim())
      cell = ""
      if (cells.length > 1 || cells[0] !== "") yield { line: begin, cells }
      cells = []
      line++
      begin = line
    } else cell += sign
  }
}
