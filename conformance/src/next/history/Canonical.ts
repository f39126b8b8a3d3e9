/**
 * The canonical form of JSON (RFC 8785).
 */

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The canonical form of a value that JSON can hold. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  // ECMAScript writes strings and numbers as RFC 8785 sections 3.2.2.2 and 3.2.2.3 ask for.
  if (!isObject(value)) return JSON.stringify(value)
  // Sorted by UTF-16 code units (section 3.2.3), which is how `sort` compares.
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
}
