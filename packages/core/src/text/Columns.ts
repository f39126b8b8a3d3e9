/**
 * Formats plain-text tables with aligned columns, for a terminal or a file.
 */

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
