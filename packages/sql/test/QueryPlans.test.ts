/**
 * Every statement on a table that grows is carried out by the index it was written for: no table is scanned.
 */
import type { DeliveryFilter } from "@doorhook/core"
import { DeliveryId, deliveryStates, IntegrationId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteDatabase } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseSync } from "node:sqlite"
import { sqlite } from "../src/Dialect.ts"
import * as Claims from "../src/sqlite/statements/ClaimStatements.ts"
import * as Deliveries from "../src/sqlite/statements/DeliveryStatements.ts"
import * as Lists from "../src/sqlite/statements/ListStatements.ts"
import { integrationStatements } from "../src/statements/IntegrationStatements.ts"
import { keyStatements } from "../src/statements/KeyStatements.ts"
import { recordStatements } from "../src/statements/RecordStatements.ts"
import { tokenStatements } from "../src/statements/TokenStatements.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const Integrations = integrationStatements(sqlite)
const Tokens = tokenStatements(sqlite)
const Records = recordStatements(sqlite)
const Keys = keyStatements(sqlite)

/** How SQLite would carry a statement out, a line for each step. */
const planOf = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  const numbers = text.matchAll(/\?(\d*)/g).map(([, number], index) => (number === "" ? index + 1 : Number(number)))
  const params = Array.from({ length: Math.max(0, ...numbers) }, () => null)
  const steps = yield* sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, params)
  return steps.map(({ detail }) => detail)
})

/** Steps that walk through all of something: only through what the statement itself brings along, or a tiny table. */
const harmless =
  /^SCAN (?:\d+-ROW VALUES CLAUSE|CONSTANT ROW|\d+ CONSTANT ROWS|(?:json_each|wanted|groups|heads|tallies|numbers|endings|e|t|revoked|workers)\b|\(subquery-\d+\))/

const expectNoScan = (plan: ReadonlyArray<string>) =>
  assert.deepEqual(
    plan.filter((step) => step.startsWith("SCAN") && !harmless.test(step)),
    []
  )

const rangeOfEvents =
  "SEARCH o USING PRIMARY KEY (scope_type=? AND scope_id=? AND resource_type=? AND created_at>? AND (created_at,event_seq)<(?,?))"

/** Each statement with the accesses that its plan must show. */
const statements: Record<string, readonly [text: string, ...steps: ReadonlyArray<string>]> = {
  takeNumbers: [Deliveries.takeNumbers],
  unindexed: [Deliveries.unindexed],
  index: [Deliveries.index, "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"],
  insertEvent: [Deliveries.insertEvent],
  insertQueued: [Deliveries.insertQueued],
  insertEnded: [Deliveries.insertEnded],
  insertAttempt: [Deliveries.insertAttempt],
  addToTally: [Deliveries.addToTally],
  queuedStandings: [Deliveries.queuedStandings, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  endedStandings: [Deliveries.endedStandings, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  requeue: [Deliveries.requeue, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteQueued: [Deliveries.deleteQueued, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  amendEnded: [Deliveries.amendEnded, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  keepEndingAttempt: [Deliveries.keepEndingAttempt, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteEnded: [Deliveries.deleteEnded, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  targets: [Deliveries.targets, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  beginEnding: [Deliveries.beginEnding, "USING COVERING INDEX queue_by_integration (integration_id=?)"],
  endings: [Deliveries.endings],
  someOfEnding: [
    Deliveries.someOfEnding,
    "SEARCH queue USING COVERING INDEX queue_by_integration (integration_id=? AND state=? AND rowid>? AND rowid<?)"
  ],
  restOfEnding: [Deliveries.restOfEnding, "SEARCH queue USING COVERING INDEX queue_by_integration (integration_id=?)"],
  endThese: [Deliveries.endThese, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteThese: [Deliveries.deleteThese, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  finishEnding: [Deliveries.finishEnding, "SEARCH queue USING COVERING INDEX queue_by_integration (integration_id=?)"],
  tallies: [Deliveries.tallies, "SEARCH queue USING COVERING INDEX queue_by_integration (integration_id=?)"],
  recoverable: [
    Deliveries.recoverable,
    "INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=? AND rowid>?)"
  ],
  disableIntegration: [Integrations.disable, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  dueHeads: [
    Claims.dueHeads,
    "SEARCH queue USING COVERING INDEX queue_due (lane=?)",
    "SEARCH later USING COVERING INDEX queue_due (lane=? AND integration_id>?)",
    "SEARCH first USING COVERING INDEX queue_due (lane=? AND integration_id=?)"
  ],
  nextDue: [
    Claims.nextDue,
    "SEARCH later USING COVERING INDEX queue_due (lane=? AND integration_id>?)",
    "SEARCH first USING COVERING INDEX queue_due (lane=? AND integration_id=?)"
  ],
  firstDue: [
    Claims.firstDue,
    "SEARCH due USING COVERING INDEX queue_due (lane=? AND integration_id=? AND due_at<?)",
    "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  deliveryById: [
    Lists.deliveryById,
    "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  attemptsOf: [
    Lists.attemptsOf,
    "SEARCH attempts USING PRIMARY KEY (delivery_id=?)",
    "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  eventsById: [Lists.eventsById, "SEARCH events USING INDEX sqlite_autoindex_events_1 (id=?)"],
  newestUnacknowledged: [
    Deliveries.newestUnacknowledged,
    "INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=?)"
  ],
  eventBehind: [Records.eventBehind, rangeOfEvents],
  eventsOf: [Records.eventsOf, rangeOfEvents, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"],
  countOf: [Records.countOf, rangeOfEvents],
  oldEvents: [Records.oldEvents, "SEARCH events USING INTEGER PRIMARY KEY (rowid>?)"],
  endedOf: [Records.endedOf, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  withActive: [Records.withActive, "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteEndedOf: [Records.deleteEndedOf, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  deleteAttempts: [Records.deleteAttempts, "SEARCH attempts USING PRIMARY KEY (delivery_id=?)"],
  ...Object.fromEntries(
    [
      ["deleteOfBuildings", Records.deleteOfBuildings],
      ["deleteOfTenants", Records.deleteOfTenants]
    ].map(([name, text = ""]) => [
      name,
      [
        text,
        "SEARCH events_of USING PRIMARY KEY (scope_type=? AND scope_id=? AND resource_type=? AND created_at=? AND event_seq=?)",
        "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"
      ]
    ])
  ),
  deleteEvents: [Records.deleteEvents, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)"],
  notices: [Records.notices, "SEARCH notices USING INTEGER PRIMARY KEY (rowid>?)"],
  noticesOfIntegration: [Records.noticesOfIntegration, "INDEX notices_by_integration (integration_id=? AND rowid>?)"],
  insertKey: [Keys.insert],
  findKeys: [Keys.find, "SEARCH idempotency_keys USING PRIMARY KEY (key=?)"],
  purgeKeys: [Keys.purge, "COVERING INDEX idempotency_keys_by_expiry (expires_at<?)"],
  subjects: [Integrations.subjects, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  survey: [Integrations.survey, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid>?)"],
  toBeWarned: [Integrations.toBeWarned, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid>?)"],
  revokeGrantsTo: [
    Tokens.revokeGrantsTo,
    "INDEX grants_by_client (client_id=?)",
    "SEARCH grants USING PRIMARY KEY (id=?)"
  ],
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
  integrationsOfScopes: [Integrations.ofScopes, "INDEX integrations_by_scope (scope_type=? AND scope_id=?)"],
  updateIntegration: [Integrations.update, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  codeWithGrant: [Tokens.codeWithGrant, "SEARCH c USING PRIMARY KEY (hash=?)", "SEARCH g USING PRIMARY KEY (id=?)"],
  accessTokenWithGrant: [Tokens.accessTokenWithGrant, "SEARCH t USING PRIMARY KEY (hash=?)"],
  refreshTokenWithGrant: [Tokens.refreshTokenWithGrant, "SEARCH t USING PRIMARY KEY (hash=?)"],
  useCode: [Tokens.useCode, "SEARCH codes USING PRIMARY KEY (hash=?)"],
  livingRefreshToken: [Tokens.livingRefreshToken, "SEARCH t USING PRIMARY KEY (hash=?)"],
  purgeAccessTokens: [Tokens.purgeAccessTokens, "COVERING INDEX access_tokens_by_expiry (expires_at<?)"],
  purgeCodes: [Tokens.purgeCodes, "COVERING INDEX codes_by_expiry (expires_at<?)"],
  deleteGrants: [Tokens.deleteGrants, "SEARCH grants USING PRIMARY KEY (id=?)"],
  endOldest: [
    Tokens.endOldest,
    "SEARCH access_tokens USING COVERING INDEX access_tokens_by_age (grant_id=?)",
    "SEARCH access_tokens USING PRIMARY KEY (hash=?)"
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
    "INDEX access_tokens_by_age (grant_id=?)",
    "INDEX codes_by_grant (grant_id=?)",
    "INDEX refresh_tokens_by_grant (grant_id=?)"
  ]
}

describe("plans", () => {
  it.effect("deleteNotices looks at the beginning of the table only", () =>
    Effect.gen(function* () {
      // Its walk ends at the limit.
      assert.deepEqual(
        (yield* planOf(Records.deleteNotices)).filter((step) => /SCAN|SEARCH/.test(step)),
        ["SEARCH notices USING INTEGER PRIMARY KEY (rowid=?)", "SCAN notices"]
      )
    }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
  )

  for (const [name, [text, ...steps]] of Object.entries(statements)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const plan = yield* planOf(text)
        expectNoScan(plan)
        for (const step of steps) assert.include(plan.join("\n"), step)
      }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
    )
  }
})

/** A database of doorhook's whose statements call `walk()` for each row that they see, where the test has them do so. */
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
  it.effect("walks no more of the index than its bound", () =>
    Effect.gen(function* () {
      let walked = 0
      const db = yield* openWalked(() => ++walked)
      db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO events (seq, id, resource_type, action, building_id, tenant_ids, created_at, data)
        SELECT i, 'evt_' || i, 'call', 'create', 1, '[]', 7 * i, '{}' FROM n`)
      db.exec("INSERT INTO events_of SELECT 'building', building_id, resource_type, created_at, seq FROM events")
      // The statements see this in place of the table.
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
      assert.strictEqual(run(Records.eventsOf, ...head, 50).walked, 50)
      assert.deepEqual(run(Records.countOf, ...head, 100, ...head), { rows: [[null]], walked: 101 })
      const last = ["building", 1, "call", 0, 7 * 60, 60] as const
      assert.deepEqual(run(Records.countOf, ...last, 100, ...last), { rows: [[60]], walked: 120 })
    })
  )
})

describe("a purge of what belongs to revoked grants", () => {
  it.effect("walks no more of them than its bound", () =>
    Effect.gen(function* () {
      let walked = 0
      const db = yield* openWalked(() => ++walked)
      db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO grants (id, user_id, client_id, scope, created_at, revoked_at) SELECT 'g' || i, 'u', 'c', '', 0, i FROM n`)
      db.exec(`INSERT INTO access_tokens (hash, grant_id, created_at, expires_at)
        SELECT 'a' || id, id, 0, 0 FROM grants`)
      // The statements see these in place of the tables.
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

const by = { integration_id: IntegrationId.make(1), event_id: StoreFixtures.eventId(1) }

const queueOrder = "SEARCH queue USING INTEGER PRIMARY KEY (rowid>?"
const queueOfIntegration = "SEARCH queue USING INDEX queue_by_integration (integration_id=? AND state=? AND rowid>?"
const endedOrder = "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid>?"
const endedOfIntegration = "SEARCH deliveries USING INDEX deliveries_by_integration (integration_id=? AND rowid>?"

describe("plans of lists", () => {
  const { event_id, integration_id } = by
  type Case = readonly [string, Omit<DeliveryFilter, "limit">, ...steps: ReadonlyArray<string>]
  const cases: ReadonlyArray<Case> = [
    ["all", {}, queueOrder, endedOrder],
    ["of an event", { event_id }, `${queueOrder} AND rowid<?)`, `${endedOrder} AND rowid<?)`],
    ["of an integration", { integration_id }, queueOfIntegration, endedOfIntegration],
    [
      "of an integration, in several states",
      { states: ["retrying", "exhausted", "cancelled"], integration_id },
      queueOfIntegration,
      "INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=? AND rowid>?)"
    ],
    ["of an event and an integration", by, `${queueOrder} AND rowid<?)`, `${endedOrder} AND rowid<?)`],
    ...deliveryStates.flatMap((state): ReadonlyArray<Case> => {
      const states = [state] as const
      const ofIntegration = { states, integration_id }
      switch (state) {
        case "pending":
        case "delivering":
        case "retrying":
          return [
            [state, { states }, queueOrder],
            [`${state} of an integration`, ofIntegration, queueOfIntegration]
          ]
        case "delivered":
          return [
            [state, { states }, endedOrder],
            [`${state} of an integration`, ofIntegration, endedOfIntegration]
          ]
        default:
          return [
            [state, { states }, "INDEX deliveries_unacknowledged (state=? AND rowid>?)"],
            [
              `${state} of an integration`,
              ofIntegration,
              "INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=? AND rowid>?)"
            ]
          ]
      }
    })
  ]
  for (const [name, filter, ...steps] of cases) {
    // Of what endings have cancelled, the first of each are sorted.
    const sorts = filter.states?.includes("cancelled") === true ? 1 : 0
    const sortsIn = (plan: ReadonlyArray<string>) => plan.filter((step) => step.includes("TEMP B-TREE")).length
    it.effect(name, () =>
      Effect.gen(function* () {
        const plan = yield* planOf(Lists.list({ ...filter, after: DeliveryId.make(1), limit: 10 }).text)
        expectNoScan(plan)
        for (const step of steps) assert.include(plan.join("\n"), step)
        assert.strictEqual(sortsIn(plan), sorts)
        const newest = { ...filter, order: "newest", after: DeliveryId.make(1), limit: 10 } as const
        const backwards = yield* planOf(Lists.list(newest).text)
        expectNoScan(backwards)
        assert.strictEqual(sortsIn(backwards), sorts)
      }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
    )
  }
})
