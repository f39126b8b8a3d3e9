/**
 * Every statement on a growing table uses its intended index. This must be true even for a plan made on a small table
 * without statistics, because plans are kept while the table grows.
 */
import type { DeliveryFilter, DeliveryState } from "@doorhook/core"
import { activeStates, DeliveryId, deliveryStates, IntegrationId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresDatabase } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { postgres } from "../../src/postgres/PostgresDialect.ts"
import * as Endings from "../../src/postgres/statements/CancellationStatements.ts"
import * as Claims from "../../src/postgres/statements/ClaimStatements.ts"
import * as Deliveries from "../../src/postgres/statements/DeliveryStatements.ts"
import * as Lists from "../../src/postgres/statements/ListStatements.ts"
import * as Tallies from "../../src/postgres/statements/TallyStatements.ts"
import { redeemCode } from "../../src/postgres/PostgresTokenWrites.ts"
import { integrationStatements } from "../../src/statements/IntegrationStatements.ts"
import { keyStatements } from "../../src/stores/SqlIdempotencyStore.ts"
import { recordStatements } from "../../src/statements/RecordStatements.ts"
import { tokenStatements } from "../../src/statements/TokenStatements.ts"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"

const Integrations = integrationStatements(postgres)
const Tokens = tokenStatements(postgres)
const Records = recordStatements(postgres)
const Keys = keyStatements(postgres)

/** Statements, with the indexes that each plan must use. */
const statements: Record<string, readonly [text: string, ...indexes: ReadonlyArray<string>]> = {
  insert: [Deliveries.insert, "integrations_pkey", "integrations_by_scope", "members_pkey"],
  acknowledge: [Deliveries.acknowledge, "queue_pkey", "integrations_pkey"],
  release: [Deliveries.release, "queue_pkey", "deliveries_pkey"],
  leasedAmong: [Deliveries.leasedAmong, "queue_pkey", "deliveries_leased"],
  releaseAllOf: [Deliveries.releaseAllOf, "queue_by_integration", "queue_pkey"],
  forget: [Deliveries.forget, "deliveries_leased", "deliveries_pkey"],
  keepWorkers: [Deliveries.keepWorkers, "members_pkey"],
  lockAlone: [Deliveries.lockAlone, "members_pkey"],
  workersOfEnded: [Deliveries.workersOfEnded, "deliveries_pkey"],
  targets: [Deliveries.targets, "integrations_pkey"],
  integrationsOfDeliveries: [Deliveries.integrationsOfDeliveries, "queue_pkey", "deliveries_pkey"],
  lockIntegration: [Deliveries.lockIntegration, "integrations_pkey"],
  lockSubjects: [Deliveries.lockSubjects, "integrations_pkey"],
  queuedStandings: [Deliveries.queuedStandings, "queue_pkey"],
  endedStandings: [Deliveries.endedStandings, "deliveries_pkey"],
  requeue: [Deliveries.requeue, "queue_pkey"],
  end: [Deliveries.end, "queue_pkey"],
  amend: [Deliveries.updateEnded, "deliveries_pkey"],
  takeEnded: [Deliveries.takeEnded, "deliveries_pkey"],
  beginEnding: [Endings.beginCancellation, "queue_by_integration"],
  endings: [Endings.cancellations, "endings_pkey"],
  someOfEnding: [Endings.someToCancel, "queue_by_integration", "endings_pkey"],
  restOfEnding: [Endings.restToCancel, "queue_by_integration", "endings_pkey"],
  endThese: [Endings.cancelLocked, "queue_pkey", "endings_pkey"],
  finishEnding: [Endings.finishCancellation, "queue_by_integration", "endings_pkey"],
  tallyOfEndings: [Tallies.ofCancellations, "endings_pkey", "queue_by_integration"],
  recoverable: [Deliveries.recoverable, "deliveries_unacknowledged_by_integration"],
  waiting: [Claims.waiting, "queue_due"],
  firstDue: [Claims.firstDue, "queue_due"],
  earlyRetries: [Claims.earlyRetries, "queue_by_integration"],
  lease: [Claims.lease, "queue_pkey", "events_id_key", "integrations_pkey"],
  deliveryById: [Lists.deliveryById, "queue_pkey", "deliveries_pkey"],
  attemptsOf: [Lists.attemptsOf, "attempts_pkey", "deliveries_pkey"],
  eventsById: [Lists.eventsById, "events_id_key"],
  eventsBySeq: [Lists.eventsBySeq, "events_pkey"],
  eventFeed: [Lists.eventFeed, "events_of_by_feed"],
  eventPlace: [Lists.eventPlace, "events_of_by_feed"],
  deliveryPlace: [Lists.deliveryPlace, "deliveries_by_integration", "queue_by_integration"],
  notePurgedDeliveries: [Lists.notePurgedDeliveries, "deliveries_pkey", "events_id_key"],
  notePurgedEvents: [Records.notePurgedEvents, "events_pkey"],
  lastPurged: [Records.lastPurged(true), "purged_pkey"],
  newScopes: [Records.newScopes, "events_pkey"],
  newestUnacknowledged: [Deliveries.newestUnacknowledged, "deliveries_unacknowledged_by_integration"],
  eventBehind: [Records.eventBehind, "events_of_pkey"],
  eventsOf: [Lists.eventsOf, "events_of_pkey", "events_pkey"],
  countOf: [Records.countOf, "events_of_pkey"],
  oldEvents: [Records.oldEvents, "events_pkey"],
  lockEndedOf: [Lists.lockEndedOf, "deliveries_pkey"],
  cancelledOf: [Lists.cancelledOf, "queue_pkey", "endings_pkey"],
  withUnkept: [Lists.withUnkept, "queue_pkey", "deliveries_pkey"],
  deleteEndedOf: [Lists.deleteEndedOf, "deliveries_pkey"],
  deleteAttempts: [Lists.deleteAttempts, "attempts_pkey"],
  deleteOfScopes: [Lists.deleteOfScopes, "events_pkey", "events_of_by_feed"],
  deleteEvents: [Records.deleteEvents, "events_pkey"],
  notifications: [Records.notifications({}), "notices_pkey"],
  notificationsOfIntegration: [
    Records.notifications({ integration_id: IntegrationId.make(1) }),
    "notices_by_integration"
  ],
  deleteNotifications: [Records.deleteNotifications, "notices_pkey"],
  findKeys: [Keys.find, "idempotency_keys_pkey"],
  purgeKeys: [Keys.purge, "idempotency_keys_by_expiry", "idempotency_keys_pkey"],
  subjects: [Integrations.subjects, "integrations_pkey"],
  survey: [Integrations.survey, "integrations_pkey"],
  surveyOfTroubled: [Integrations.listUnhealthy, "integrations_pkey"],
  subscriptions: [Integrations.subscriptions, "integrations_by_grant"],
  dueWarnings: [Integrations.dueWarnings, "integrations_pkey"],
  revokeGrantsTo: [Tokens.revokeGrantsTo, "grants_by_client", "grants_pkey"],
  grantsOf: [Tokens.grantsOf, "grants_by_user", "refresh_tokens_by_grant"],
  revokeGrantsOf: [Tokens.revokeGrantsOf, "grants_by_user", "grants_pkey", "refresh_tokens_by_grant"],
  integrationsById: [Integrations.byIds, "integrations_pkey"],
  pageOfScope: [Integrations.pageOfScope, "integrations_by_scope"],
  pageOfClient: [Integrations.pageOfClient, "integrations_by_scope"],
  findByScopes: [Integrations.findByScopes, "integrations_by_scope"],
  update: [Integrations.update, "integrations_pkey"],
  accessTokenWithGrant: [Tokens.accessTokenWithGrant, "access_tokens_pkey", "grants_pkey"],
  refreshTokenWithGrant: [Tokens.refreshTokenWithGrant, "refresh_tokens_pkey", "grants_pkey"],
  useCode: [Tokens.useCode, "codes_pkey"],
  redeemCode: [redeemCode, "codes_pkey", "grants_pkey"],
  purgeAccessTokens: [Tokens.purgeAccessTokens, "access_tokens_pkey"],
  purgeCodes: [Tokens.purgeCodes, "codes_by_expiry"],
  deleteGrants: [Tokens.deleteGrants, "grants_pkey"],
  endOldest: [Tokens.endOldest, "access_tokens_by_grant", "access_tokens_pkey"],
  purgeRotated: [Tokens.purgeRotated, "refresh_tokens_by_rotation", "refresh_tokens_pkey"],
  ...Object.fromEntries(
    ["access_tokens_by_grant", "codes_by_grant", "refresh_tokens_by_grant"].map((index, n) => [
      `purgeOfRevoked ${n}`,
      [Tokens.purgeOfRevoked[n] ?? "", "grants_by_revocation", index]
    ])
  ),
  purgeRevoked: [Tokens.purgeRevoked, "grants_by_revocation", "grants_pkey"]
}

/** What else the plans of some statements must contain. */
const parts: Record<string, ReadonlyArray<RegExp>> = {
  releaseAllOf: [
    /hashed SubPlan/,
    /Index Cond: \(\(integration_id = h\w*\.integration_id\) AND \(state = 'delivering'/
  ],
  forget: [/hashed SubPlan/],
  // Events of other buildings are not read.
  eventFeed: [/Index Cond: \(\(\(?CASE scope_type .* AND \(event_seq > /],
  eventPlace: [/Index Cond: \(\(\(?CASE scope_type .* AND \(event_seq > /]
}

const isActive = (state: DeliveryState) => activeStates.some((active) => active === state)

const indexesOf = (
  { event_id, integration_id }: DeliveryFilter,
  state: DeliveryState | undefined
): ReadonlyArray<string> => {
  if (event_id !== undefined) return ["events_id_key", "queue_pkey", "deliveries_pkey"]
  const ofIntegration = integration_id !== undefined
  const queued = ofIntegration ? "queue_by_integration" : "queue_pkey"
  const ended = ofIntegration ? "deliveries_by_integration" : "deliveries_pkey"
  if (state === undefined) return [queued, ended]
  if (isActive(state)) return [queued]
  if (state === "delivered") return [ended]
  const unacknowledged = `deliveries_unacknowledged${ofIntegration ? "_by_integration" : ""}`
  return state === "cancelled" ? [unacknowledged, "endings_pkey", "queue_by_integration"] : [unacknowledged]
}

for (const state of [undefined, ...deliveryStates]) {
  for (const integration_id of [undefined, IntegrationId.make(1)]) {
    const filter = {
      ...(state !== undefined && { states: [state] as const }),
      ...(integration_id !== undefined && { integration_id }),
      after: DeliveryId.make(1),
      limit: 100
    }
    statements[`list of ${integration_id === undefined ? "all" : "one integration"}, ${state ?? "any state"}`] = [
      Lists.list(filter).text,
      ...indexesOf(filter, state)
    ]
  }
}
const ofEvent = { event_id: StoreFixtures.eventId(1), limit: 10 }
statements["list of an event"] = [Lists.list(ofEvent).text, ...indexesOf(ofEvent, undefined)]
const unacknowledged = {
  states: ["retrying", "exhausted", "cancelled"],
  integration_id: IntegrationId.make(1),
  limit: 10
} as const
statements["list of several states, cancelled"] = [
  Lists.list(unacknowledged).text,
  "queue_by_integration",
  "deliveries_unacknowledged_by_integration",
  "endings_pkey"
]

await describeOnPostgres("query plans", (server) => {
  it.live("each statement uses its index, and scans nothing", () =>
    Effect.gen(function* () {
      const connectionString = server.url(yield* newDatabase(server))
      yield* Layer.build(Layer.fresh(PostgresDatabase.layer({ url: Redacted.make(connectionString) })))
      const options = Object.entries(PostgresDatabase.session)
        .map(([name, value]) => `-c ${name}=${value.replaceAll(" ", String.raw`\ `)}`)
        .join(" ")
      // Uses another client, because doorhook's always sends parameters, which EXPLAIN (GENERIC_PLAN) doesn't accept.
      const client = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const connected = new pg.Client({ connectionString, options })
          await connected.connect()
          return connected
        }),
        (connected) => Effect.promise(() => connected.end())
      )
      const query = (text: string) =>
        Effect.promise(async () => (await client.query<Record<string, string>>(text)).rows.flatMap(Object.values))
      const [version] = yield* query("SELECT current_setting('server_version_num')")
      if (Number(version) < 160_000) return assert.fail("Plans for any parameters need PostgreSQL 16.")
      for (const [name, [text, ...indexes]] of Object.entries(statements)) {
        const plan = (yield* query(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${text}`)).join("\n")
        assert.notMatch(plan, /Seq Scan|Disabled/, name)
        // A full scan of an index is no better than a scan of a growing table.
        assert.notMatch(
          plan,
          /using (?:queue|deliveries|attempts|events|events_of|grants)_pkey on \w+(?: \w+)?\n(?! *Index Cond)/,
          name
        )
        // Only lists of cancelled deliveries may sort.
        if (name.startsWith("list") && !name.endsWith(", cancelled")) assert.notMatch(plan, /Sort\n/, name)
        for (const part of parts[name] ?? []) assert.match(plan, part, `${name}\n${plan}`)
        for (const index of indexes) assert.match(plan, new RegExp(` (?:using|on) ${index}\\b`), `${name}\n${plan}`)
      }
    })
  )
})
