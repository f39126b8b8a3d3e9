/**
 * The columns of an access log, and the names by which logs call them.
 */

export const columns = {
  time: ["time", "timestamp", "datetime", "date_time", "logged_at", "at", "event_time", "zeit", "zeitpunkt", "datum"],
  kind: ["kind", "type", "event", "event_type", "resource_type", "art"],
  door: ["door", "access_point", "reader", "panel", "gate", "location", "tuer", "leser"],
  person: ["person", "name", "user", "holder", "cardholder", "credential", "card", "badge", "user_id", "benutzer"],
  unit: ["unit", "flat", "apartment", "tenant", "company", "unit_label", "wohnung", "firma"],
  method: ["method", "entry_method", "how", "medium"],
  status: ["status", "release_status", "result", "outcome", "decision"],
  purpose: ["purpose", "notification_type", "call_type"]
} as const satisfies Record<string, ReadonlyArray<string>>

export type ColumnName = keyof typeof columns

export const columnNames: ReadonlyArray<ColumnName> = [
  "time",
  "kind",
  "door",
  "person",
  "unit",
  "method",
  "status",
  "purpose"
]

const plain = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("ü", "ue")
    .replaceAll("ä", "ae")
    .replaceAll("ö", "oe")
    .trim()
    .replaceAll(/[^a-z0-9]+/g, "_")

/** Where each column is; absent when it is not there. */
export type ColumnPlaces = Partial<Readonly<Record<ColumnName, number>>>

/** Finds the columns in a header. `named` says by which headings the user's log calls them. */
export const placesIn = (
  header: ReadonlyArray<string>,
  named: Partial<Readonly<Record<ColumnName, string>>>
): ColumnPlaces | { readonly missing: string } => {
  const headings = header.map(plain)
  const places: Partial<Record<ColumnName, number>> = {}
  for (const name of columnNames) {
    const own = named[name]
    if (own === undefined) continue
    const place = headings.indexOf(plain(own))
    if (place < 0) return { missing: own }
    places[name] = place
  }
  // What was named is that column and no other, whatever its heading would mean.
  const taken = new Set(Object.values(places))
  for (const name of columnNames) {
    if (places[name] !== undefined) continue
    const place = columns[name].map((alias) => headings.indexOf(alias)).find((at) => at >= 0 && !taken.has(at))
    if (place !== undefined) places[name] = place
  }
  return places
}
