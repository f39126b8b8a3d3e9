/**
 * Parameters of OAuth requests (RFC 6749 section 3.1). A parameter without a value counts as absent. Repeated
 * parameters are errors, unknown ones are ignored.
 */

/** Parameters that have a value. */
export interface Parameters {
  /** The first value of each parameter. */
  readonly values: ReadonlyMap<string, string>
  /** The values of `resource`, which is the only parameter that may be repeated (RFC 8707 section 2). */
  readonly resources: ReadonlyArray<string>
  /** Parameters that occurred more than once. */
  readonly repeated: ReadonlySet<string>
}

/** Reads decoded pairs of name and value, in the order sent. */
export const fromPairs = (pairs: Iterable<readonly [string, string]>): Parameters => {
  const values = new Map<string, string>()
  const resources: Array<string> = []
  const repeated = new Set<string>()
  for (const [name, value] of pairs) {
    if (value === "") continue
    if (name === "resource") resources.push(value)
    else if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return { values, resources, repeated }
}

/** All parameters of the token, revocation and introspection endpoints. */
export const meaningful: ReadonlySet<string> = new Set([
  "grant_type",
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "code",
  "redirect_uri",
  "code_verifier",
  "refresh_token",
  "scope",
  "resource",
  "token",
  "token_type_hint"
])

/** Returns the value of a parameter; null if absent. */
export const get = (parameters: Parameters, name: string): string | null => parameters.values.get(name) ?? null

/**
 * Returns the first parameter that is repeated although it must not be; null if there is none. `audience` may be
 * repeated (RFC 8693 section 2.1), but doorhook ignores it.
 */
export const firstRepeated = ({ repeated }: Parameters): string | null =>
  [...repeated].find((name) => name !== "audience") ?? null

/**
 * Returns the message for a repeated parameter. It omits names that an error description can't contain (RFC 6749
 * section 5.2).
 */
export const cameTwice = (name: string): string =>
  `${/^[\w.-]{1,64}$/.test(name) ? `The parameter ${name}` : "A parameter"} was sent more than once. Send it once.`
