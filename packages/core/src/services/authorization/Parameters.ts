/**
 * The parameters of an OAuth request, by the rules of RFC 6749 section 3.1: one without a value counts as absent, none
 * may come twice, unknown ones are ignored.
 */

/** Parameters that have a value. */
export interface Parameters {
  /** The first value of each. */
  readonly values: ReadonlyMap<string, string>
  /** Those that came more than once. */
  readonly repeated: ReadonlySet<string>
}

/** Takes decoded name and value pairs, in the order in which they were sent. */
export const fromPairs = (pairs: Iterable<readonly [string, string]>): Parameters => {
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  for (const [name, value] of pairs) {
    if (value === "") continue
    if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return { values, repeated }
}

/** The value of a parameter; null when it is absent. */
export const get = (parameters: Parameters, name: string): string | null => parameters.values.get(name) ?? null

/**
 * The first of some names that came more than once; null when none did. Only names that mean something here are asked
 * for: extensions may repeat theirs (RFC 8707 does).
 */
export const firstRepeated = (parameters: Parameters, names: ReadonlyArray<string>): string | null =>
  names.find((name) => parameters.repeated.has(name)) ?? null
