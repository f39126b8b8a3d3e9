/**
 * The locks that changes of integrations take, in the caller's transaction. Nothing where transactions take turns.
 */
import type { IntegrationId, Scope } from "@doorhook/core"
import type { Effect } from "effect"
import { Context } from "effect"
import type { SqlError } from "effect/sql"

export class IntegrationLocks extends Context.Service<
  IntegrationLocks,
  {
    /** Locks an integration for change: publications to it have committed, and there are none until the transaction ends. */
    readonly forChange: (id: IntegrationId) => Effect.Effect<void, SqlError.SqlError>
    /** Keeps others from creating integrations of a scope until the transaction ends. */
    readonly scope: (scope: Scope) => Effect.Effect<void, SqlError.SqlError>
  }
>()("@doorhook/sql/IntegrationLocks") {}
