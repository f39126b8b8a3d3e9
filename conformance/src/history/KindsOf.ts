/**
 * The kinds of something, from the table that has words for each.
 */
export const kindsOf = <Table extends object>(table: Table): ReadonlyArray<keyof Table & string> => {
  const isKind = (text: string): text is keyof Table & string => Object.hasOwn(table, text)
  return Object.keys(table).filter(isKind)
}
