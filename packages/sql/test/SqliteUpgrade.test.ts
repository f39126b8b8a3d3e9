/**
 * Migrates a file from the fifth version, which stored open and ended deliveries in separate tables, and leases in
 * rows.
 */
import { DeliveryId, DeliveryStore, latest } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { asFifthVersion } from "./FifthVersion.ts"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const { claim, createIntegration, eventId, nextDue, start } = StoreFixtures

/**
 * Events with deliveries 1 to 9 of two integrations. A row in `endings` cancels the second integration's open
 * deliveries up to 8.
 */
const rows = `
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
  INSERT INTO events SELECT i, 'evt_' || printf('%020d', i), 'access_log', 'create', 1, '[]', ${start}, i, i, '{}' FROM n;
  INSERT INTO queue VALUES
    (1, '${eventId(1)}', 1, ${start}, 'pending', NULL, 0, 2, ${start}, NULL, 0),
    (2, '${eventId(2)}', 1, ${start}, 'delivering', NULL, 0, 2, ${start + 20_000}, 'token', 0),
    (3, '${eventId(3)}', 1, ${start}, 'delivering', NULL, 1, 3, ${start + 20_000}, 'token', 2),
    (4, '${eventId(4)}', 1, ${start}, 'retrying', NULL, 1, 3, ${1.2 * latest}, NULL, 0),
    (7, '${eventId(7)}', 2, ${start}, 'pending', NULL, 0, 2, ${start}, NULL, 0),
    (8, '${eventId(8)}', 2, ${start}, 'retrying', NULL, 1, 3, ${start}, NULL, 0);
  INSERT INTO deliveries VALUES
    (5, '${eventId(5)}', 1, ${start}, 'delivered', NULL, 2, 2, NULL, ${start}, 7, 'acknowledged', 200, NULL, 'ok'),
    (6, '${eventId(6)}', 1, ${start}, 'exhausted', 'schedule_used_up', 1, 3, NULL, ${start}, 7, 'timeout', NULL, 'late', NULL),
    (9, '${eventId(9)}', 2, ${start}, 'skipped', 'integration_disabled', 0, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  INSERT INTO attempts VALUES (5, 1, ${start}, 3, 'bad_status', 500, NULL, 'no'), (4, 1, ${start}, 3, 'timeout', NULL, NULL, NULL);
  INSERT INTO endings VALUES (2, 8, 'integration_disabled');
  INSERT INTO workers VALUES ('dead', ${start + 20_000});
  INSERT INTO tallies VALUES ('events', 9), ('pending', 2), ('delivering', 2), ('retrying', 2), ('delivered', 1),
    ('exhausted', 1), ('skipped', 1);
  UPDATE numbers SET event = 9, delivery = 9`

it.effect("deliveries keep their states, and leased ones are due", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    yield* onStore({ filename }, Effect.replicateEffect(createIntegration(), 2))
    yield* tamper(filename, asFifthVersion)
    yield* tamper(filename, rows)
    const use = Effect.gen(function* () {
      const store = yield* DeliveryStore
      const listed = yield* store.list({ limit: 20 })
      assert.deepEqual(
        listed.map(({ attempts, event_id, id, next_attempt_at, reason, state }) => [
          id,
          event_id === eventId(id),
          state,
          reason,
          attempts,
          next_attempt_at
        ]),
        [
          [1, true, "pending", null, 0, start],
          [2, true, "pending", null, 0, start],
          [3, true, "pending", null, 1, start],
          [4, true, "retrying", null, 1, latest],
          [5, true, "delivered", null, 2, null],
          [6, true, "exhausted", "schedule_used_up", 1, null],
          [7, true, "cancelled", "integration_disabled", 0, null],
          [8, true, "cancelled", "integration_disabled", 1, null],
          [9, true, "skipped", "integration_disabled", 0, null]
        ]
      )
      const { events, states } = yield* store.summary(start)
      assert.deepEqual(
        [events, states],
        [
          9,
          { pending: 3, delivering: 0, retrying: 1, delivered: 1, exhausted: 1, expired: 0, cancelled: 2, skipped: 1 }
        ]
      )
      const found = yield* store.find(DeliveryId.make(5))
      assert.deepEqual(
        found?.attempts.map(({ number, outcome, response_excerpt }) => [number, outcome, response_excerpt]),
        [
          [1, "bad_status", "no"],
          [2, "acknowledged", "ok"]
        ]
      )
      assert.deepEqual(listed[3]?.last_attempt?.outcome, "timeout")
      const claimed = yield* claim(start)
      assert.deepEqual(
        claimed.map(({ id }) => Number(id)),
        [1, 2, 3]
      )
      assert.deepEqual(
        claimed.map(({ resend }) => resend),
        [false, false, true]
      )
      assert.strictEqual(yield* nextDue(start), latest)
      const ids = yield* StoreFixtures.enqueue(...StoreFixtures.records(10, 10, yield* createIntegration()))
      assert.deepEqual(ids.map(Number), [10])
    })
    yield* onStore({ filename }, use)
  })
)
