/**
 * A database can't be opened, or it belongs to another application.
 */
import { Schema } from "effect"

export class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  /** The file or server, without credentials. */
  database: Schema.String,
  why: Schema.Literals([
    "cannot_open",
    "unreachable",
    "refused",
    "not_a_database",
    "other_application",
    "newer_version",
    "locked",
    "sealed_secrets",
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
