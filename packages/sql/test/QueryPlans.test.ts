/**
 * Every statement on a table that grows is carried out by the index it was written for: no table is scanned.
 */
import type { DeliveryFilter } from "@doorhook/core"
import { DeliveryId, deliveryStates, IntegrationId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteDatabase } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlite } from "../src/Dialect.ts"
import * as Claims from "../src/sqlite/statements/ClaimStatements.ts"
import * as Deliveries from "../src/sqlite/statements/DeliveryStatements.ts"
import * as Lists from "../src/sqlite/statements/ListStatements.ts"
import { integrationStatements } from "../src/statements/IntegrationStatements.ts"
import { tokenStatements } from "../src/statements/TokenStatements.ts"

const Integrations = integrationStatements(sqlite)
const Tokens = tokenStatements(sqlite)

/** How SQLite would carry a statement out, a line for each step. */
const planOf = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  const params = Array.from({ length: text.split("?").length - 1 }, () => null)
  const steps = yield* sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, params)
  return steps.map(({ detail }) => detail)
})

/** Steps that walk through all of something: only through what the statement itself brings along, or a tiny table. */
const harmless =
  /^SCAN (?:\d+-ROW VALUES CLAUSE|\d+ CONSTANT ROWS|CONSTANT ROW|json_each|wanted|groups|heads|moved|tallies)\b/

const expectNoScan = (plan: ReadonlyArray<string>) =>
  assert.deepEqual(
    plan.filter((step) => step.startsWith("SCAN") && !harmless.test(step)),
    []
  )

const rows = (statement: { readonly text: (rows: number) => string }) => statement.text(4)

/** Each statement with the accesses that its plan must show. */
const statements: Record<string, readonly [text: string, ...steps: ReadonlyArray<string>]> = {
  insertEvents: [rows(Deliveries.insertEvents)],
  insertDeliveries: [rows(Deliveries.insertDeliveries)],
  insertAttempts: [rows(Deliveries.insertAttempts)],
  addToTallies: [rows(Deliveries.addToTallies)],
  moveDeliveries: [rows(Deliveries.moveDeliveries), "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  standings: [Deliveries.standings, "SEARCH deliveries USING INTEGER PRIMARY KEY (rowid=?)"],
  integrationStatuses: [Deliveries.integrationStatuses, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  countActive: [Deliveries.countActive, "USING INDEX deliveries_active (lane=? AND integration_id=? AND due_at>?)"],
  cancelActive: [Deliveries.cancelActive, "INDEX deliveries_active (lane=? AND integration_id=? AND due_at>?)"],
  countRecoverable: [
    Deliveries.countRecoverable,
    "USING INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=?)"
  ],
  recover: [Deliveries.recover, "USING INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=?)"],
  disableIntegration: [Integrations.disable, "SEARCH integrations USING INTEGER PRIMARY KEY (rowid=?)"],
  dueHeads: [
    Claims.dueHeads,
    "SEARCH deliveries USING COVERING INDEX deliveries_active (lane=?)",
    "SEARCH later USING COVERING INDEX deliveries_active (lane=? AND integration_id>?)",
    "SEARCH first USING COVERING INDEX deliveries_active (lane=? AND integration_id=? AND due_at>?)"
  ],
  nextDue: [
    Claims.nextDue,
    "SEARCH later USING COVERING INDEX deliveries_active (lane=? AND integration_id>?)",
    "SEARCH first USING COVERING INDEX deliveries_active (lane=? AND integration_id=? AND due_at>?)"
  ],
  firstDue: [
    Claims.firstDue,
    "SEARCH due USING COVERING INDEX deliveries_active (lane=? AND integration_id=? AND due_at>? AND due_at<?)",
    "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"
  ],
  eventsBySeq: [Claims.eventsBySeq, "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)"],
  deliveryById: [Lists.deliveryById, "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"],
  attemptsOf: [Lists.attemptsOf, "SEARCH attempts USING PRIMARY KEY (delivery_id=?)"],
  eventById: [Lists.eventById, "SEARCH events USING INDEX sqlite_autoindex_events_1 (id=?)"],
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
  deleteGrants: [Tokens.deleteGrants, "SEARCH grants USING PRIMARY KEY (id=?)"]
}

describe("plans", () => {
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

const by = { integration_id: IntegrationId.make(1), event_id: StoreFixtures.eventId(1) }

describe("plans of lists", () => {
  const cases: ReadonlyArray<readonly [string, Omit<DeliveryFilter, "limit">, string]> = [
    ["all", {}, "SEARCH d USING INTEGER PRIMARY KEY (rowid>?)"],
    ["of an event", { event_id: by.event_id }, "INDEX deliveries_by_event (event_seq=? AND rowid>?)"],
    [
      "of an integration",
      { integration_id: by.integration_id },
      "INDEX deliveries_by_integration (integration_id=? AND rowid>?)"
    ],
    ["of an event and an integration", by, "INDEX deliveries_by_event (event_seq=? AND rowid>?)"],
    ...deliveryStates.flatMap((state): ReadonlyArray<readonly [string, Omit<DeliveryFilter, "limit">, string]> => {
      const ofIntegration = { state, integration_id: by.integration_id }
      switch (state) {
        case "pending":
        case "delivering":
        case "retrying":
          return [
            [state, { state }, "USING INDEX deliveries_active"],
            [
              `${state} of an integration`,
              ofIntegration,
              "USING INDEX deliveries_active (lane=? AND integration_id=? AND due_at>?)"
            ]
          ]
        case "delivered":
          return [
            [state, { state }, "SEARCH d USING INTEGER PRIMARY KEY (rowid>?)"],
            [
              `${state} of an integration`,
              ofIntegration,
              "INDEX deliveries_by_integration (integration_id=? AND rowid>?)"
            ]
          ]
        default:
          return [
            [state, { state }, "INDEX deliveries_unacknowledged (state=? AND rowid>?)"],
            [
              `${state} of an integration`,
              ofIntegration,
              "INDEX deliveries_unacknowledged_by_integration (integration_id=? AND state=? AND rowid>?)"
            ]
          ]
      }
    })
  ]
  for (const [name, filter, step] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const plan = yield* planOf(Lists.list({ ...filter, after: DeliveryId.make(1), limit: 10 }).text)
        expectNoScan(plan)
        assert.include(plan.join("\n"), step)
      }).pipe(Effect.provide(SqliteDatabase.layer({ filename: ":memory:" })))
    )
  }
})
