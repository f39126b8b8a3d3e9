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

/** The parameters that mean something in a request to the token, revocation or introspection endpoint. */
export const meaningful: ReadonlySet<string> = new Set([
  "grant_type",
  "client_id",
  "client_secret",
  "code",
  "redirect_uri",
  "code_verifier",
  "refresh_token",
  "scope",
  "token",
  "token_type_hint"
])

/** The value of a parameter; null when it is absent. */
export const get = (parameters: Parameters, name: string): string | null => parameters.values.get(name) ?? null

/** Parameters of extensions that may come more than once (RFC 8707, RFC 8693); they mean nothing here. */
const repeatable: ReadonlySet<string> = new Set(["resource", "audience"])

/** The first parameter that came more than once, though it must not; null when none did. */
export const firstRepeated = ({ repeated }: Parameters): string | null =>
  [...repeated].find((name) => !repeatable.has(name)) ?? null

/** Says that a parameter came more than once. Its name may be anything: one that an error can't carry is not said (RFC 6749 section 5.2). */
export const cameTwice = (name: string): string =>
  `${/^[\w.-]{1,64}$/.test(name) ? `The parameter ${name}` : "A parameter"} came more than once. Send it once.`
