/**
 * Error for a database that can't be opened or that doorhook must not use.
 */
import { Schema } from "effect"

export class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  /** The file name or server address, without credentials. */
  database: Schema.String,
  why: Schema.Literals([
    "cannot_open",
    "unreachable",
    "refused",
    "not_a_database",
    "other_application",
    "other_directory",
    "newer_version",
    "unreleased_version",
    "locked",
    "sealed_secrets",
    "moved",
    "failed"
  ]),
  /** What is wrong and what to do, in one or two sentences. */
  explanation: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return `Can't use ${this.database}: ${this.explanation}`
  }
}
