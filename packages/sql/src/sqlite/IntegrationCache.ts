/**
 * A cache of integrations in the process that owns the file, for publications, claims and settlements. A change by this
 * process drops the integration's entry; a change of the file by another connection drops all entries.
 */
import type { HealthRules, Integration, IntegrationId } from "@doorhook/core"
import { IntegrationStore, RecentMap } from "@doorhook/core"
import type { Exit } from "effect"
import { Context, Effect, Layer } from "effect"
import { sqlite } from "../Dialect.ts"
import type { IntegrationReader, IntegrationUnreadable } from "../IntegrationReader.ts"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { rowFrom, subjectOf } from "../IntegrationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { ScopeCache } from "../stores/ScopeCache.ts"
import { failAs } from "../StoreFailure.ts"
import * as Sql from "./DeliverySql.ts"
import { SqliteTurns } from "./SqliteTurns.ts"

/** Maximum number of cached integrations. */
const maxRemembered = 10_000

/** An integration's row and its decoded forms. */
interface Known {
  readonly row: IntegrationRow
  /** The part that settlements need; null if it can't be read. */
  readonly subject: HealthRules.HealthSubject | null
  readonly integration: Exit.Exit<Integration, IntegrationUnreadable>
}

const make = (turns: SqliteTurns["Service"], reader: IntegrationReader) => {
  const byId = turns.prepare(integrationStatements(sqlite).byId)
  const names = byId.columns().map(({ name }) => name)
  const dataVersion = turns.prepare(Sql.dataVersion)
  let version = Number(dataVersion.get()?.[0])
  let integrations = new RecentMap<IntegrationId, Known>(maxRemembered)
  const scopes = new ScopeCache()

  const forgetAll = () => {
    integrations = new RecentMap(maxRemembered)
    scopes.forget()
  }

  const load = (id: IntegrationId): Known | undefined => {
    const values = byId.get(id)
    if (values === undefined) return undefined
    const row = rowFrom((column) => values[names.indexOf(column)])
    const known = {
      row,
      subject: subjectOf(row),
      // Decoding is synchronous.
      integration: Effect.runSyncExit(reader.read(row))
    }
    integrations.set(id, known)
    return known
  }

  return {
    /**
     * Returns the integration as stored; undefined if there is none. Must not be called while another call's
     * transaction is open.
     */
    get: (id: IntegrationId): Known | undefined => integrations.get(id) ?? load(id),
    /** Drops a changed integration and all matches. */
    forget: (id: IntegrationId): void => {
      integrations.delete(id)
      scopes.forget()
    },
    scopes,
    /** Drops an integration whose failure state has changed. Keeps matches, which don't depend on that state. */
    forgetFailing: (id: IntegrationId): void => integrations.delete(id),
    forgetAll,
    /** Drops everything if another connection has changed the file. */
    refresh: (): void => {
      const now = Number(dataVersion.get()?.[0])
      if (now !== version) forgetAll()
      version = now
    }
  }
}

export class IntegrationCache extends Context.Service<IntegrationCache, ReturnType<typeof make>>()(
  "@doorhook/sql/IntegrationCache"
) {
  static readonly layer = (reader: IntegrationReader): Layer.Layer<IntegrationCache, never, SqliteTurns> =>
    Layer.effect(
      IntegrationCache,
      Effect.map(SqliteTurns, (turns) => make(turns, reader))
    )
}

/** Adds a cache of matches to the integration store. */
export const remembered: Layer.Layer<IntegrationStore, never, IntegrationStore | IntegrationCache | SqliteTurns> =
  Layer.effect(
    IntegrationStore,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const known = yield* IntegrationCache
      const turns = yield* SqliteTurns
      return IntegrationStore.of({
        ...store,
        create: (integration, key, limit) =>
          Effect.onExit(store.create(integration, key, limit), () => Effect.sync(() => known.scopes.forget())),
        findByScopes: (of) =>
          failAs("IntegrationStore.findByScopes")(turns.read(known.refresh)).pipe(
            Effect.andThen(Effect.suspend(() => known.scopes.find(of, 0, store.findByScopes)))
          )
      })
    })
  )
