/**
 * Statements that find encrypted secrets in any version of the tables.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { sealedPrefix } from "../SecretBox.ts"
import { integrationStatements } from "./IntegrationStatements.ts"
import { settingStatements } from "./SettingStatements.ts"

/** Parameter of the statements. */
export const sealedPattern = `${sealedPrefix}%`

/** Each returns a few rows with the column `sealed`. */
export const someSealed = (dialect: Dialect): ReadonlyArray<string> => [
  integrationStatements(dialect).someSealedSecrets,
  settingStatements(dialect).someSealed
]

/** Reads a few encrypted secrets. */
export const readSealed = (
  sql: SqlClient.SqlClient,
  dialect: Dialect
): Effect.Effect<ReadonlyArray<string>, SqlError.SqlError> =>
  Effect.map(
    Effect.forEach(someSealed(dialect), (statement) =>
      sql.unsafe<{ readonly sealed: string }>(statement, [sealedPattern])
    ),
    (rows) => rows.flat().map(({ sealed }) => sealed)
  )
