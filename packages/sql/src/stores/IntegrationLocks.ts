/**
 * Locks for changes of integrations, in the caller's transaction. On SQLite they do nothing, because transactions run
 * one at a time.
 */
import type { IntegrationId, Scope } from "@doorhook/core"
import type { Effect } from "effect"
import { Context } from "effect"
import type { SqlError } from "effect/sql"

export class IntegrationLocks extends Context.Service<
  IntegrationLocks,
  {
    /**
     * Locks an integration for change: waits for earlier publications, and makes later ones wait until the transaction
     * ends.
     */
    readonly forChange: (id: IntegrationId) => Effect.Effect<void, SqlError.SqlError>
    /** Prevents others from creating integrations of a scope until the transaction ends. */
    readonly scope: (scope: Scope) => Effect.Effect<void, SqlError.SqlError>
  }
>()("@doorhook/sql/IntegrationLocks") {}
