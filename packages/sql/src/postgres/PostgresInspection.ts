/**
 * Inspects a PostgreSQL database without changing it.
 */
import { AgreedSettings } from "@doorhook/core"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Inspection } from "../Inspection.ts"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { readSealed } from "../statements/SealedSecrets.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import { settingStatements } from "../statements/SettingStatements.ts"
import { newestOf, refusalOf, versionOf } from "../Migrations.ts"
import { PostgresMigrations, startAgain } from "./migrations/index.ts"
import type { PostgresDatabaseConfig } from "./PostgresDatabase.ts"
import {
  appliedTo,
  connect,
  exposureOf,
  linkTo,
  listenerOf,
  serverOf,
  listenName,
  nameOf,
  session,
  wakeSourceOf
} from "./PostgresDatabase.ts"
import { failedReads, maxInspected, unreadableAmong } from "../UnreadableRows.ts"
import { postgres } from "./PostgresDialect.ts"
import { explain } from "./PostgresFailure.ts"
import { measureClock } from "./PostgresStore.ts"
import * as PostgresUrl from "./PostgresUrl.ts"
import { listenAdvice, pollEvery } from "./PostgresWakeSignal.ts"
import type { Route } from "./Route.ts"
import { findRoute } from "./Route.ts"
import * as Switches from "./Switches.ts"
import type { Link } from "./ServerConnection.ts"

interface Found {
  readonly engine: string
  readonly writable: boolean
}

// The database is writable if the user may create the schema, or objects in the existing one, and the server is neither
// a standby nor read-only.
const statement = `SELECT current_setting('server_version') AS engine,
  NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off' AND coalesce(
    (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'doorhook'),
    has_database_privilege(current_database(), 'CREATE')) AS writable`

const encryptionOf = (link: Link, listener: Link | null): Inspection["encryption"] => {
  const exposure = exposureOf(link)
  if (exposure !== null) return { isExposed: true, detail: exposure }
  const ofListener = listener === null ? null : exposureOf(listener)
  if (listener !== null && ofListener !== null)
    return { isExposed: true, detail: `${listenName(listener)} is ${ofListener}` }
  if (link.last?.isEncrypted !== true) return { isExposed: false, detail: "none, on this machine" }
  return link.last.isVerified
    ? { isExposed: false, detail: "TLS; the server's certificate is verified" }
    : { isExposed: false, detail: "TLS, but the server's certificate is not verified (sslmode=verify-full does)" }
}

const poolerOf = (link: Link, route: Route, switches: Switches.Values): Inspection["pooler"] => {
  if (route.mode === "direct") return null
  const signals =
    wakeSourceOf(link, route, switches) === "polling"
      ? `wake signals by polling every ${pollEvery}. ${listenAdvice}`
      : link.url.listen === null
        ? "wake signals through the pooler"
        : `wake signals from ${PostgresUrl.nameOf(link.url.listen)}`
  return { mode: route.mode, signals }
}

const settingOf = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(
    sql.unsafe<{ readonly value: string }>(settingStatements(postgres).byName, [name]),
    ([row]) => row?.value ?? null
  )

const workersOf = (sql: SqlClient.SqlClient, now: number) =>
  Effect.map(
    sql.unsafe<{ readonly count: number }>("SELECT count(*)::int AS count FROM members WHERE until > $1", [now]),
    ([row]) => row?.count ?? 0
  )

const damageOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql.unsafe<IntegrationRow>(integrationStatements(postgres).survey, [0, maxInspected])
  const [counted] = yield* sql.unsafe<{ readonly count: number }>(failedReads("state = 'cancelled'"))
  return { unreadable: yield* unreadableAmong(rows), failedReads: counted?.count ?? 0 }
})

/** Inspects a database; fails when it can't be reached or refuses this user. */
export const inspect = (config: PostgresDatabaseConfig): Effect.Effect<Inspection, DatabaseUnusable> =>
  Effect.gen(function* () {
    const link = yield* linkTo(config.url)
    const route = yield* findRoute(link, session)
    const sql: SqlClient.SqlClient = yield* connect(link, 1, route)
    const migrations = yield* PostgresMigrations
    const applied = yield* appliedTo(sql)
    const version = versionOf(applied)
    const refusal = refusalOf(applied, migrations, startAgain)?.explanation ?? null
    const isKnown = version > 0 && refusal === null
    // Rows of an older version lack columns until the next start migrates them.
    const isCurrent = isKnown && version === newestOf(migrations)
    const [found] = yield* sql.unsafe<Found>(statement)
    const switches = Switches.merged(isKnown ? yield* Switches.stored(sql) : null, link.url.switches)
    const without = Switches.inWords(switches)
    const clock = yield* measureClock(sql, nameOf(config.url))
    return {
      exists: version > 0,
      version,
      newest: newestOf(migrations),
      refusal,
      engine: `PostgreSQL ${found?.engine ?? ""}${without === null ? "" : ` with ${without}`}`,
      isWritable: found?.writable === true,
      isReadableByOthers: null,
      encryption: encryptionOf(link, yield* listenerOf(link, yield* serverOf(sql))),
      clockOffset: clock.offset(),
      pooler: poolerOf(link, route, switches),
      sealed: isKnown ? yield* readSealed(sql, postgres) : [],
      ...(isCurrent ? yield* damageOf(sql) : { unreadable: [], failedReads: 0 }),
      agreed: isKnown ? yield* settingOf(sql, AgreedSettings.agreedName) : null,
      proposed: isKnown ? yield* settingOf(sql, AgreedSettings.proposedName) : null,
      workers: isKnown ? yield* workersOf(sql, clock.now()) : null
    }
  }).pipe(
    Effect.scoped,
    Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(config.url), error))),
    Effect.provide(Reactivity.layer)
  )
