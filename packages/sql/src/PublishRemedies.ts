/**
 * Advice for when PostgreSQL refuses a call of `doorhook.publish`.
 */
import { Predicate } from "effect"

/**
 * Returns the SQLSTATE of an error or of its causes, like `3D000`; empty if there is none. Every SQLSTATE has a digit,
 * unlike the code `EPIPE` of Node.js.
 */
export const sqlStateOf = (error: unknown): string => {
  for (let at = error; Predicate.isObject(at); at = Predicate.hasProperty(at, "cause") ? at.cause : undefined) {
    if (Predicate.hasProperty(at, "code") && typeof at.code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(at.code))
      return at.code
  }
  return ""
}

const unknownHere =
  "The database has no doorhook.publish. Start doorhook on this database once, or run `doorhook migrate`, to create it"

/** Query that returns the name of the database user as `role`, quoted for SQL. */
export const currentRole = "SELECT quote_ident(current_user) AS role"

/** Returns the statements that allow a database user to publish. The owner of doorhook's tables must run them. */
const publishGrants = (role: string): string => {
  const calls = ["text", "json", "jsonb"].map((type) => `doorhook.publish(${type}, bigint)`)
  return `GRANT USAGE ON SCHEMA doorhook TO ${role}; GRANT EXECUTE ON FUNCTION ${calls.join(", ")} TO ${role};`
}

const notAllowed = (role: string) =>
  `The database user ${role} may not publish. Run as the user that owns doorhook's tables: ${publishGrants(role)}`

/** Advice by SQLSTATE: schema missing, function missing, permission denied. */
const remedies: ReadonlyMap<string, (role: string) => string> = new Map([
  ["3F000", () => unknownHere],
  ["42883", () => unknownHere],
  ["42501", notAllowed]
])

/** Explains an error and its remedy to an operator; undefined if the database's own message is enough. */
export const publishRemedyFor = (refusal: unknown): ((role: string) => string) | undefined =>
  remedies.get(sqlStateOf(refusal))
