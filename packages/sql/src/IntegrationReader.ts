/**
 * Integrations out of their rows. What a row says is worked out once, and again when the row is another.
 */
import type { PreviousSecret } from "@doorhook/core"
import { Integration, RecentMap, rootMessage } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { IntegrationRow } from "./IntegrationRows.ts"
import { bindings, decodePrevious, integrationColumns, overrides } from "./IntegrationRows.ts"
import type { SecretBox, SecretUnreadable } from "./SecretBox.ts"

/** How many integrations are remembered. */
const maxRemembered = 10_000

/** An integration's row can't be read: something else than doorhook has changed it, or it is damaged. */
export class IntegrationUnreadable extends Schema.TaggedError<IntegrationUnreadable>()("IntegrationUnreadable", {
  id: Schema.Int,
  /** `building 1`, as far as the row says. */
  scope: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `integration ${this.id} of ${this.scope} can't be read: ${this.why}`
  }
}

const whyUnreadable = (cause: Schema.SchemaError | SecretUnreadable): string => {
  if (cause._tag === "SchemaError") return rootMessage(cause)
  return cause.why === "no_key"
    ? "its signing secret is encrypted, and this service has no encryption key"
    : "its signing secret does not open with this service's encryption key"
}

export interface IntegrationReader {
  readonly read: (row: IntegrationRow) => Effect.Effect<Integration, IntegrationUnreadable>
  readonly readAll: (
    rows: ReadonlyArray<IntegrationRow>
  ) => Effect.Effect<ReadonlyArray<Integration>, IntegrationUnreadable>
}

/** An integration with its secrets, which are opened separately. */
const secret = Schema.Redacted(Schema.String)
const decode = Schema.decodeUnknownEffect(
  Schema.Struct({
    ...Integration.fields,
    bindings,
    overrides,
    signing_secret: secret,
    previous_secrets: Schema.Array(Schema.Struct({ secret, until: Schema.Int }))
  })
)

const fromRow = Effect.fnUntraced(function* (
  row: IntegrationRow,
  secrets: SecretBox
): Effect.fn.Return<Integration, Schema.SchemaError | SecretUnreadable> {
  const previous_secrets: Array<PreviousSecret> = []
  for (const { secret: sealed, until } of yield* decodePrevious(row.previous_secrets)) {
    previous_secrets.push({ secret: yield* secrets.open(sealed), until })
  }
  return yield* decode({
    ...row,
    scope: { type: row.scope_type, id: row.scope_id },
    configuration: { url: row.url, method: row.method },
    created_by: { user_id: row.created_by_user, client_id: row.created_by_client },
    signing_secret: yield* secrets.open(row.signing_secret),
    previous_secrets
  })
})

/** How an integration fails changes with every failed attempt, and is no part of it. */
const readColumns = integrationColumns.filter((column) => !column.startsWith("failing_"))

const isSame = (one: IntegrationRow, other: IntegrationRow): boolean =>
  readColumns.every((column) => one[column] === other[column])

/** A reader that opens secrets with this box. */
export const make = (secrets: SecretBox): IntegrationReader => {
  const remembered = new RecentMap<number, { readonly row: IntegrationRow; readonly integration: Integration }>(
    maxRemembered
  )

  const recall = (row: IntegrationRow): Integration | undefined => {
    const known = remembered.get(row.id)
    return known !== undefined && isSame(known.row, row) ? known.integration : undefined
  }

  const readNew = (row: IntegrationRow): Effect.Effect<Integration, IntegrationUnreadable> =>
    fromRow(row, secrets).pipe(
      Effect.mapError((cause) => {
        const { id, scope_id, scope_type } = row
        return new IntegrationUnreadable({ id, scope: `${scope_type} ${scope_id}`, why: whyUnreadable(cause) })
      }),
      Effect.tap((integration) => Effect.sync(() => remembered.set(row.id, { row, integration })))
    )

  const read: IntegrationReader["read"] = (row) => {
    const known = recall(row)
    return known === undefined ? readNew(row) : Effect.succeed(known)
  }

  return {
    read,
    readAll: (rows) => {
      const known = rows.flatMap((row) => recall(row) ?? [])
      return known.length === rows.length ? Effect.succeed(known) : Effect.forEach(rows, read)
    }
  }
}
