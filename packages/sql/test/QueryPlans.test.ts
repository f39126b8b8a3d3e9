/**
 * Every statement on a growing table uses its intended index and contains no full scan.
 */
import { IntegrationId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteDatabase } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseSync } from "node:sqlite"
import { sqlite } from "../src/Dialect.ts"
import * as Deliveries from "../src/sqlite/DeliverySql.ts"
import { storedStates } from "../src/sqlite/DeliverySql.ts"
import type { StoredState } from "../src/sqlite/DeliverySql.ts"
import { integrationStatements } from "../src/statements/IntegrationStatements.ts"
import { keyStatements } from "../src/stores/SqlIdempotencyStore.ts"
import { recordStatements } from "../src/statements/RecordStatements.ts"
import { tokenStatements } from "../src/statements/TokenStatements.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const Integrations = integrationStatements(sqlite)
const Tokens = tokenStatements(sqlite)
const Keys = keyStatements(sqlite)
const Records = recordStatements(sqlite)

/** Returns SQLite's plan for a statement, one line per step. */
const planOf = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  const numbers = text.matchAll(/\?(\d*)/g).map(([, number], index) => (number === "" ? index + 1 : Number(number)))
  const params = Array.from({ length: Math.max(0, ...numbers) }, () => null)
  const steps = yield* sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, params)
  return steps.map(({ detail }) => detail)
})

/** Allowed full scans: of a statement's parameters, of limited subqueries, and of tiny tables. */
const harmless =
  /^SCAN (?:\d+-ROW VALUES CLAUSE|CONSTANT ROW|\d+ CONSTANT ROWS|(?:json_each|groups|owner|cancellations|t|items|revoked|oldest)\b|\(subquery-\d+\))/

const expectNoScan = (plan: ReadonlyArray<string>) =>
  assert.deepEqual(
    plan.filter((step) => step.startsWith("SCAN") && !harmless.test(step)),
    []
  )

const rangeOfEvents =
  "SEARCH o USING PRIMARY KEY (scope_type=? AND scope_id=? AND resource_type=? AND created_at>? AND (created_at,event_seq)<(?,?))"

const deliveryById = "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"
const pendingOfIntegration = "INDEX deliveries_pending_by_integration (integration=? AND rowid<?)"
const retryingOfIntegration =
  "COVERING INDEX deliveries_unacknowledged_by_integration (integration=? AND state=? AND rowid<?)"
const unacknowledgedOfIntegration =
  "INDEX deliveries_unacknowledged_by_integration (integration=? AND state=? AND rowid"
/** Plan steps for deliveries in `deliveries_of`, and for the newest deliveries, which are not in that table yet. */
const listedOfIntegration = [
  "SEARCH o USING PRIMARY KEY (integration=? AND delivery>?)",
  "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
  "SEARCH d USING INTEGER PRIMARY KEY (rowid>?)"
]
const eventOfList =
  "SEARCH events_of USING COVERING INDEX events_of_by_seq (scope_type=? AND scope_id=? AND event_seq=?)"

const listedOfScope = [
  "SEARCH o USING COVERING INDEX events_of_by_seq (scope_type=? AND scope_id=? AND event_seq>?)",
  "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)",
  "SEARCH e USING INTEGER PRIMARY KEY (rowid>?)"
]

/** Statements, with the steps that each plan must contain. */
const statements: Record<string, readonly [text: string, ...steps: ReadonlyArray<string>]> = {
  owner: [Deliveries.owner],
  setOwner: [Deliveries.setOwner],
  renewOwner: [Deliveries.renewOwner],
  countCancelled: [Deliveries.countCancelled],
  cancellations: [Deliveries.cancellations],
  recoverLeases: [Deliveries.recoverLeases, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid>?)"],
  insertEvent: [Deliveries.insertEvent],
  insertDelivery: [Deliveries.insertDelivery],
  insertHeld: [Deliveries.insertHeld],
  listByBuilding: [Deliveries.listByBuilding, "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"],
  listByTenant: [Deliveries.listByTenant, "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"],
  listByIntegration: [
    Deliveries.listByIntegration,
    "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
  ],
  findKey: [Deliveries.findKey, "SEARCH idempotency_keys USING PRIMARY KEY (key=?)"],
  end: [Deliveries.end, deliveryById],
  wait: [Deliveries.wait, deliveryById],
  amend: [Deliveries.updateEnded, deliveryById],
  cancelOne: [Deliveries.cancelOne, deliveryById],
  insertAttempt: [Deliveries.insertAttempt],
  keepEndingAttempt: [Deliveries.keepEndingAttempt, deliveryById],
  revive: [Deliveries.requeue, deliveryById],
  standing: [Deliveries.standing, deliveryById],
  heads: [
    Deliveries.heads,
    "SEARCH deliveries USING COVERING INDEX deliveries_due (lane=?)",
    "SEARCH later USING COVERING INDEX deliveries_due (lane=? AND integration>?)"
  ],
  dueAfter: [
    Deliveries.dueAfter,
    "COVERING INDEX deliveries_due (lane=? AND integration=? AND due_at=? AND rowid>?)",
    "COVERING INDEX deliveries_due (lane=? AND integration=? AND due_at>?)"
  ],
  retries: [Deliveries.retries, "INDEX deliveries_unacknowledged_by_integration (integration=? AND state=?)"],
  claimed: [
    Deliveries.claimed,
    "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  cancelPending: [Deliveries.cancelPending, pendingOfIntegration, deliveryById],
  cancelRetrying: [Deliveries.cancelRetrying, retryingOfIntegration, deliveryById],
  countOpen: [
    Deliveries.countOpen,
    "COVERING INDEX deliveries_due (lane=? AND integration=?",
    "COVERING INDEX deliveries_unacknowledged_by_integration (integration=? AND state=?)"
  ],
  beginCancellation: [Deliveries.beginCancellation],
  endCancellation: [Deliveries.endCancellation, "SEARCH cancellations USING INTEGER PRIMARY KEY (rowid=?)"],
  newestUnacknowledged: [Deliveries.newestUnacknowledged, unacknowledgedOfIntegration],
  recoverable: [Deliveries.recoverable, unacknowledgedOfIntegration],
  findDelivery: [Deliveries.findDelivery, "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"],
  attemptsOf: [Deliveries.attemptsOf, "SEARCH attempts USING PRIMARY KEY (delivery_id=?)"],
  lastAttempt: [Deliveries.lastAttempt, "SEARCH attempts USING PRIMARY KEY (delivery_id=?)"],
  findEvent: [Deliveries.findEvent, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"],
  rangeOfEvent: [Deliveries.rangeOfEvent, "INDEX sqlite_autoindex_events_1 (id=?)"],
  feed: [Deliveries.feed, ...listedOfIntegration, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"],
  eventFeed: [Deliveries.eventFeed, ...listedOfScope],
  deliveryPlace: [Deliveries.deliveryPlace, ...listedOfIntegration],
  eventPlace: [Deliveries.eventPlace, ...listedOfScope],
  notePurgedEvents: [
    Records.notePurgedEvents,
    "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  notePurgedDeliveries: [
    Deliveries.notePurgedDeliveries,
    "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
  ],
  lastPurged: [
    Records.lastPurged(true),
    "SEARCH purged USING PRIMARY KEY (source_type=? AND source_id=? AND resource_type=?)"
  ],
  newScopes: [Records.newScopes, "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"],
  eventBehind: [Records.eventBehind, rangeOfEvents],
  eventsOf: [Deliveries.eventsOf, rangeOfEvents, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"],
  countOf: [Records.countOf, rangeOfEvents],
  oldEvents: [Records.oldEvents, "SEARCH events USING INTEGER PRIMARY KEY (rowid>?)"],
  deliveriesOfEvent: [
    Deliveries.deliveriesOfEvent,
    "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
  ],
  deleteDelivery: [Deliveries.deleteDelivery, deliveryById],
  unlistDelivery: [Deliveries.unlistDelivery, "SEARCH deliveries_of USING PRIMARY KEY (integration=? AND delivery=?)"],
  deleteAttempts: [Deliveries.deleteAttempts, "SEARCH attempts USING PRIMARY KEY (delivery_id=?)"],
  deleteOfBuildings: [Deliveries.deleteOfBuildings, eventOfList, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteOfTenants: [Deliveries.deleteOfTenants, eventOfList, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteEvents: [Records.deleteEvents, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)"],
  insertNotification: [Records.insertNotification],
  notifications: [Records.notifications({}), "SEARCH notices USING INTEGER PRIMARY KEY (rowid>?)"],
  notificationsOfIntegration: [
    Records.notifications({ integration_id: IntegrationId.make(1) }),
    "INDEX notices_by_integration (integration_id=? AND rowid>?)"
  ],
  insertKey: [Keys.insert],
  findKeys: [Keys.find, "SEARCH idempotency_keys USING PRIMARY KEY (key=?)"],
  purgeKeys: [Keys.purge, "COVERING INDEX idempotency_keys_by_expiry (expires_at<?)"],
  subjects: [Integrations.subjects, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  subscriptions: [Integrations.subscriptions, "SEARCH integrations USING INDEX integrations_by_grant (grant_id>?)"],
  survey: [Integrations.survey, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid>?)"],
  dueWarnings: [Integrations.dueWarnings, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid>?)"],
  revokeGrantsTo: [
    Tokens.revokeGrantsTo,
    "INDEX grants_by_client (client_id=?)",
    "SEARCH grants USING PRIMARY KEY (id=?)"
  ],
  grant: [Tokens.grant, "SEARCH g USING PRIMARY KEY (id=?)"],
  grantsOf: [
    Tokens.grantsOf,
    "SEARCH g USING INDEX grants_by_user (user_id=?)",
    "USING COVERING INDEX refresh_tokens_by_grant (grant_id=?)"
  ],
  revokeGrantsOf: [
    Tokens.revokeGrantsOf,
    "INDEX grants_by_user (user_id=?)",
    "USING COVERING INDEX refresh_tokens_by_grant (grant_id=?)"
  ],
  pageOfScope: [Integrations.pageOfScope, "INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  countOfScope: [Integrations.countOfScope, "COVERING INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  countOfKind: [Integrations.countOfKind, "INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  pageOfClient: [Integrations.pageOfClient, "INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  countOfClient: [Integrations.countOfClient, "INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  integrationsOfScopes: [Integrations.findByScopes, "INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  updateIntegration: [Integrations.update, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  codeWithGrant: [Tokens.codeWithGrant, "SEARCH c USING PRIMARY KEY (hash=?)", "SEARCH g USING PRIMARY KEY (id=?)"],
  accessTokenWithGrant: [
    Tokens.accessTokenWithGrant,
    "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH g USING PRIMARY KEY (id=?)"
  ],
  deleteAccessToken: [Tokens.deleteAccessToken, "SEARCH access_tokens USING INTEGER PRIMARY KEY (rowid=?)"],
  refreshTokenWithGrant: [Tokens.refreshTokenWithGrant, "SEARCH t USING PRIMARY KEY (hash=?)"],
  useCode: [Tokens.useCode, "SEARCH codes USING PRIMARY KEY (hash=?)"],
  refreshAccessToken: [Tokens.refreshAccessToken, "SEARCH t USING PRIMARY KEY (hash=?)"],
  purgeAccessTokens: [Tokens.purgeAccessTokens, "SEARCH t USING INTEGER PRIMARY KEY (rowid<?)"],
  purgeCodes: [Tokens.purgeCodes, "COVERING INDEX codes_by_expiry (expires_at<?)"],
  deleteGrants: [Tokens.deleteGrants, "SEARCH grants USING PRIMARY KEY (id=?)"],
  endOldest: [
    Tokens.endOldest,
    "SEARCH access_tokens USING COVERING INDEX access_tokens_by_grant (grant_id=?)",
    "SEARCH access_tokens USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  purgeRotated: [Tokens.purgeRotated, "COVERING INDEX refresh_tokens_by_rotation (rotated_at<?)"],
  ...Object.fromEntries(
    Tokens.purgeOfRevoked.map((text, n) => [
      `purgeOfRevoked ${n}`,
      [text, "COVERING INDEX grants_by_revocation (revoked_at<?)", "SEARCH t USING COVERING INDEX", "(grant_id=?)"]
    ])
  ),
  purgeRevoked: [
    Tokens.purgeRevoked,
    "COVERING INDEX grants_by_revocation (revoked_at<?)",
    "INDEX access_tokens_by_grant (grant_id=?)",
    "INDEX codes_by_grant (grant_id=?)",
    "INDEX refresh_tokens_by_grant (grant_id=?)"
  ]
}

/**
 * Statements that stop reading once they have enough rows. This works only if they read rows in the order of the
 * result.
 */
const unbounded: ReadonlySet<string> = new Set([
  "dueAfter",
  "retries",
  "feed",
  "eventFeed",
  "deliveryPlace",
  "eventPlace",
  "eventsOf",
  "notifications",
  "oldEvents"
])

describe("plans", () => {
  it.effect("deleteNotifications reads only the beginning of the table", () =>
    Effect.gen(function* () {
      // This scan is allowed, because it stops at the limit.
      assert.deepEqual(
        (yield* planOf(Records.deleteNotifications)).filter((step) => /SCAN|SEARCH/.test(step)),
        ["SEARCH notices USING INTEGER PRIMARY KEY (rowid=?)", "SCAN notices"]
      )
    }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
  )

  for (const [name, [text, ...steps]] of Object.entries(statements)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const plan = yield* planOf(text)
        expectNoScan(plan)
        if (unbounded.has(name)) assert.notInclude(plan.join("\n"), "TEMP B-TREE")
        for (const step of steps) assert.include(plan.join("\n"), step)
      }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
    )
  }
})

/**
 * Opens a database with an SQL function `walk()`. Tests create views that call `walk()` for each row read, to count the
 * rows.
 */
const openWalked = Effect.fnUntraced(function* (walk: () => number) {
  const filename = yield* temporaryFile
  yield* Layer.build(SqliteDatabase.layer({ filename }))
  const db = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename)),
    (opened) => Effect.sync(() => opened.close())
  )
  db.function("walk", walk)
  return db
})

describe("a page of events", () => {
  it.effect("reads no more of the index than its limit", () =>
    Effect.gen(function* () {
      let walked = 0
      const db = yield* openWalked(() => ++walked)
      db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO events (seq, id, resource_type, action, building_id, tenant_ids, created_at, data)
        SELECT i, 'evt_' || i, 'call', 'create', 1, '[]', 7 * i, '{}' FROM n`)
      db.exec("INSERT INTO events_of SELECT 'building', building_id, resource_type, created_at, seq FROM events")
      // The statements read this view instead of the table.
      db.exec("CREATE TEMP VIEW events_of AS SELECT * FROM main.events_of WHERE walk() > 0")
      const run = (statement: string, ...params: ReadonlyArray<string | number>) => {
        walked = 0
        return {
          rows: db
            .prepare(statement)
            .all(...params)
            .map(Object.values),
          walked
        }
      }
      const head = ["building", 1, "call", 0, 10_000, 0] as const
      assert.deepEqual(run(Records.eventBehind, ...head, 100), { rows: [[7 * 900, 900]], walked: 101 })
      assert.strictEqual(run(Deliveries.eventsOf, ...head, 50).walked, 50)
      assert.deepEqual(run(Records.countOf, ...head, 100, ...head), { rows: [[null]], walked: 101 })
      const last = ["building", 1, "call", 0, 7 * 60, 60] as const
      assert.deepEqual(run(Records.countOf, ...last, 100, ...last), { rows: [[60]], walked: 120 })
    })
  )
})

describe("a purge of rows of revoked grants", () => {
  it.effect("reads no more rows than its limit", () =>
    Effect.gen(function* () {
      let walked = 0
      const db = yield* openWalked(() => ++walked)
      db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO grants (id, user_id, client_id, scope, created_at, revoked_at) SELECT 'g' || i, 'u', 'c', '', 0, i FROM n`)
      db.exec(`INSERT INTO access_tokens (hash, grant_id, created_at, expires_at)
        SELECT 'a' || id, id, 0, 0 FROM grants`)
      // The statements read these views instead of the tables.
      const watched = (table: string) =>
        db.exec(`CREATE TEMP VIEW ${table} AS SELECT * FROM main.${table} WHERE walk() > 0`)
      watched("grants")
      for (const statement of Tokens.purgeOfRevoked.slice(1)) {
        walked = 0
        assert.deepEqual(db.prepare(statement).all(2_000, 100, 50), [])
        assert.strictEqual(walked, 100)
      }
      db.exec("DROP VIEW temp.grants")
      watched("access_tokens")
      walked = 0
      assert.deepEqual(db.prepare(Tokens.purgeRevoked).all(2_000, 100, 50), [])
      assert.strictEqual(walked, 100)
    })
  )
})

const indexOf = (state: StoredState): string =>
  state === "pending" ? "pending (state=? AND rowid>?)" : "unacknowledged (state=? AND rowid>?)"

const by = { integration_id: IntegrationId.make(1), event_id: StoreFixtures.eventId(1) }

const order = "SEARCH d USING INTEGER PRIMARY KEY (rowid>?"
const ofEvent = `${order} AND rowid<?)`
const indexed = (index: string) => `SEARCH d USING INDEX deliveries_${index}`

describe("plans of lists", () => {
  const { event_id, integration_id } = by
  type Case = readonly [
    string,
    StoredState | undefined,
    Parameters<typeof Deliveries.list>[1],
    ...steps: ReadonlyArray<string>
  ]
  const cases: ReadonlyArray<Case> = [
    ["all", undefined, {}, order],
    ["of an event", undefined, { event_id }, ofEvent],
    ["of an integration", undefined, { integration_id }, ...listedOfIntegration],
    ["of an event and an integration", undefined, by, ofEvent],
    ...storedStates.flatMap((state): ReadonlyArray<Case> => {
      const all: Case = [state, state, {}, state === "delivered" ? order : indexed(indexOf(state))]
      const ofIntegration: Case = [
        `${state} of an integration`,
        state,
        { integration_id },
        ...(state === "delivered"
          ? listedOfIntegration
          : [indexed(`${indexOf(state).split(" ")[0]}_by_integration (integration=?`)])
      ]
      return [all, ofIntegration, [`${state} of an event`, state, { event_id }, ofEvent]]
    })
  ]
  for (const [name, state, filter, ...steps] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const plan = yield* planOf(Deliveries.list(state, filter))
        expectNoScan(plan)
        for (const step of steps) assert.include(plan.join("\n"), step)
        assert.notInclude(plan.join("\n"), "TEMP B-TREE")
        const backwards = yield* planOf(Deliveries.list(state, { ...filter, order: "newest" }))
        expectNoScan(backwards)
        assert.notInclude(backwards.join("\n"), "TEMP B-TREE")
      }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
    )
  }
})
