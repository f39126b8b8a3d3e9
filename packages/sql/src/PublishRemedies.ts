/**
 * Advice for when PostgreSQL refuses a call of `doorhook.publish`.
 */
import { Predicate } from "effect"

/** The SQLSTATE of an error or of its causes, like `3D000`; empty if there is none. */
export const sqlStateOf = (error: unknown): string => {
  for (let at = error; Predicate.isObject(at); at = Predicate.hasProperty(at, "cause") ? at.cause : undefined) {
    if (Predicate.hasProperty(at, "code") && typeof at.code === "string" && /^[0-9A-Z]{5}$/.test(at.code))
      return at.code
  }
  return ""
}

const unknownHere =
  "The database has no doorhook.publish. Start doorhook on this database once, or run `doorhook migrate`: that makes it"

/** By SQLSTATE: no such schema, no such function, not allowed. */
const remedies: ReadonlyMap<string, string> = new Map([
  ["3F000", unknownHere],
  ["42883", unknownHere],
  [
    "42501",
    "This user of the database may not publish. As its owner: GRANT USAGE ON SCHEMA doorhook TO the user, and GRANT EXECUTE ON FUNCTION doorhook.publish TO the user"
  ]
])

/** What is wrong and what to do; undefined if doorhook knows no more than the database's message. */
export const publishRemedyFor = (refusal: unknown): string | undefined => remedies.get(sqlStateOf(refusal))
