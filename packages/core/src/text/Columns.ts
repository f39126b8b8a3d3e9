/**
 * A table for a terminal or a file: rows whose columns stand one below the other, as wide as what is in them.
 */

/** What stands between two columns. */
const gap = "  "

/**
 * A line for each row. The columns of the given numbers, from 0, stand to the right, as numbers do. The last cell of a row is
 * as long as it likes.
 */
export const columns = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  toTheRight: ReadonlyArray<number> = []
): ReadonlyArray<string> => {
  const widths: Array<number> = []
  for (const row of rows) {
    row.forEach((cell, at) => {
      // What comes last in its row pushes nothing aside.
      if (at < row.length - 1) widths[at] = Math.max(widths[at] ?? 0, cell.length)
    })
  }
  const placed = (cell: string, at: number): string =>
    toTheRight.includes(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)
  return rows.map((row) => row.map(placed).join(gap).trimEnd())
}
