/**
 * Another program has damaged a row. Reading the row fails with an error that names row and column. Deliveries that
 * need the row are cancelled when they are claimed, the log says why, and all other deliveries are sent.
 */
import type { IdempotencyStore, LeasedDelivery, SettingStore } from "@doorhook/core"
import { DeliveryStore, IntegrationStore, Publisher } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect, Logger, Redacted } from "effect"
import { damages as publicationDamages, publisher, storesForBoth } from "./DamagedPublications.ts"
import { onStore, open, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

const {
  building,
  claim,
  createIntegration,
  enqueue,
  enqueueOne,
  eventId,
  findDelivery,
  newEvent,
  records,
  retryAt,
  settle,
  settlement,
  settleWithConsequences,
  start
} = StoreFixtures

/** Columns, the values that damage them, and the place that the error names. */
const damages = [
  ["tenant_ids", "'1, 2'", '["tenant_ids"]'],
  ["tenant_ids", "'{}'", '["tenant_ids"]'],
  ["tenant_ids", "'[1, 0]'", '["tenant_ids"][1]'],
  ["resource_type", "'Odd'", '["resource_type"]']
] as const

const key = Redacted.make("the key")
const idsOf = (claimed: ReadonlyArray<LeasedDelivery>) => claimed.map(({ id }) => id)

/** Runs an effect on a store with a new file, and captures the log. */
const onLoggedStore = <A, E>(
  use: (
    filename: string,
    lines: ReadonlyArray<string>
  ) => Effect.Effect<A, E, DeliveryStore | IntegrationStore | SettingStore | IdempotencyStore | Scope.Scope>,
  encryptionKey?: Redacted.Redacted<string>
) =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const config = { filename, ...(encryptionKey !== undefined && { encryptionKey }) }
    return yield* Effect.provide(onStore(config, use(filename, lines)), logger)
  })

describe("a damaged row", () => {
  for (const [column, value, place] of damages) {
    it.effect(`of an event, ${value} for ${column}, fails only deliveries of the event`, () =>
      onLoggedStore((filename, lines) =>
        Effect.gen(function* () {
          const integration = yield* createIntegration()
          const damaged = yield* enqueueOne(newEvent(1), integration)
          const sound = yield* enqueueOne(newEvent(2), integration)
          yield* tamper(filename, `UPDATE events SET ${column} = ${value} WHERE id = '${eventId(1)}'`)
          const { message } = yield* Effect.flip(DeliveryStore.use((store) => store.find(damaged)))
          assert.include(message, `at ["event"]${place}`)
          assert.include(message, "a stored row is damaged or was changed by another program")

          assert.deepEqual(idsOf(yield* claim(start)), [sound])
          assert.lengthOf(lines, 1)
          assert.match(lines[0] ?? "", new RegExp(`\\(${damaged}\\)\\. .* event ${eventId(1)}: `))
          assert.include(lines[0], place)
          const [failed] = yield* DeliveryStore.use((store) => store.list({ limit: 1 }))
          assert.deepInclude(failed, { state: "cancelled", reason: "row_unreadable", attempts: 0 })

          yield* tamper(filename, "UPDATE events SET tenant_ids = '[101,102]', resource_type = 'access_log'")
          yield* DeliveryStore.use((store) => store.redeliver({ type: "delivery", id: damaged }, start + 1))
          assert.deepEqual(idsOf(yield* claim(start + 1)), [damaged])
        })
      )
    )
  }

  it.effect("of an integration fails only its deliveries, is listed, and can be deleted", () =>
    onLoggedStore(
      (filename, lines) =>
        Effect.gen(function* () {
          const damaged = yield* createIntegration()
          const sound = yield* createIntegration({ scope: building(2) })
          for (let n = 1; n <= 8; n++) yield* enqueueOne(newEvent(n), damaged)
          const sent = yield* enqueueOne(newEvent(9), sound)
          yield* tamper(filename, `UPDATE integrations SET signing_secret = 'sealed:v1:AAAA' WHERE id = ${damaged.id}`)

          assert.deepEqual(idsOf(yield* claim(start, { limitPerIntegration: 4 })), [sent])
          assert.lengthOf(lines, 1)
          assert.include(lines[0], `(1, 2, 3, 4). After a repair, `)
          assert.include(lines[0], `integration ${damaged.id} of building 1 can't be read: `)
          assert.include(lines[0], "delete the integration")
          assert.deepEqual(yield* claim(start, { limitPerIntegration: 3 }), [])
          const cancelled = (yield* DeliveryStore.use((deliveries) => deliveries.summary(start))).states
          assert.deepInclude(cancelled, { cancelled: 7, delivering: 1, pending: 1 })

          const store = yield* IntegrationStore
          const listed = yield* store.listAll({ after: 0, limit: 10 })
          assert.deepEqual(listed, [
            {
              id: damaged.id,
              scope: damaged.scope,
              version: damaged.version,
              bindings: damaged.bindings,
              unreadable: "its signing secret can't be decrypted with this service's encryption key"
            },
            { integration: sound, failing: null }
          ])
          const { version } = yield* Effect.fromNullishOr(yield* store.findRef(damaged.id))
          assert.isTrue(yield* store.remove({ id: damaged.id, version }))
          const states = (yield* DeliveryStore.use((deliveries) => deliveries.summary(start))).states
          assert.deepInclude(states, { cancelled: 8, delivering: 1, pending: 0 })
        }),
      key
    )
  )

  it.effect("leaves its place in a claim to other deliveries, within the limits of their integrations", () =>
    onLoggedStore((filename) =>
      Effect.gen(function* () {
        const sound = yield* createIntegration()
        const damaged = yield* createIntegration({ scope: building(2) })
        const other = yield* createIntegration({ scope: building(2) })
        yield* enqueue(...records(1, 30, sound), ...records(31, 60, damaged), ...records(61, 90, other))
        yield* tamper(
          filename,
          `UPDATE integrations SET method = 'odd' WHERE id = ${damaged.id};
          UPDATE events SET resource_type = 'Odd' WHERE id <= '${eventId(4)}'`
        )
        const claimed = yield* claim(start, { limit: 18, limits: new Map([[other.id, 7]]) })
        const byIntegration = Map.groupBy(claimed, ({ integration }) => integration.id)
        assert.deepEqual(
          [sound, damaged, other].map(({ id }) => byIntegration.get(id)?.length ?? 0),
          [11, 0, 7]
        )
        assert.strictEqual(new Set(idsOf(claimed)).size, 18)
        const { states } = yield* DeliveryStore.use((store) => store.summary(start))
        assert.deepInclude(states, { delivering: 18, pending: 72 - (states.cancelled ?? 0) })
        // The first claim has cancelled the four deliveries with a damaged event, but no other deliveries of sound
        // integrations.
        const untouched = (yield* claim(start, { limit: 100, limits: new Map([[damaged.id, 0]]) })).length
        assert.strictEqual(untouched, 90 - 30 - 4 - 18)
      })
    )
  )

  /** Columns whose damage is only detected when outcomes are recorded. */
  for (const [column, value] of [
    ["status", "'off'"],
    ["disabled_reason", "'odd'"],
    ["scope_type", "'house'"],
    ["scope_id", "-1"]
  ] as const) {
    it.effect(`of an integration, ${value} for ${column}, does not prevent the recording of running attempts`, () =>
      onLoggedStore((filename, lines) =>
        Effect.gen(function* () {
          const damaged = yield* createIntegration()
          const sound = yield* createIntegration({ scope: building(2) })
          yield* enqueue(...records(1, 3, damaged))
          const delivered = yield* enqueueOne(newEvent(4), sound)
          const leased = yield* claim(start)
          yield* tamper(filename, `UPDATE integrations SET ${column} = ${value} WHERE id = ${damaged.id}`)
          const [retrying, given, gone, fine] = leased.toSorted((a, b) => a.id - b.id)
          if (retrying === undefined || given === undefined || gone === undefined || fine?.id !== delivered)
            return assert.fail("not all were claimed")
          const { applied, changed, notifications } = yield* settleWithConsequences(
            start + 10,
            retryAt(retrying, start + 20),
            settlement(given, { state: "exhausted", reason: "schedule_used_up" }),
            settlement(gone, { state: "cancelled", reason: "integration_gone", gone: true }),
            settlement(fine)
          )
          assert.deepEqual([applied.size, changed, notifications], [4, [], []])
          const states = yield* Effect.forEach([retrying, given, gone, fine], ({ id }) => findDelivery(id))
          assert.deepEqual(
            states.map(({ attempts, next_attempt_at, state }) => [state, attempts, next_attempt_at]),
            [
              ["retrying", 1, start + 20],
              ["exhausted", 1, null],
              // The receiver answered 410, but the damaged row prevents disabling the integration.
              ["cancelled", 1, null],
              ["delivered", 1, null]
            ]
          )
          assert.deepEqual(lines, [])
        })
      )
    )
  }

  it.effect("of a failing integration does not prevent warnings about others", () =>
    onLoggedStore((filename) =>
      Effect.gen(function* () {
        const damaged = yield* createIntegration()
        const sound = yield* createIntegration({ scope: building(2) })
        yield* enqueueOne(newEvent(1), damaged)
        yield* enqueueOne(newEvent(2), sound)
        for (const leased of yield* claim(start)) yield* settle(start, retryAt(leased, start + 1_000_000))
        yield* tamper(filename, `UPDATE integrations SET scope_id = -1 WHERE id = ${damaged.id}`)
        const store = yield* DeliveryStore
        const notifications = yield* store.warn(start + StoreFixtures.disableAfter, StoreFixtures.disableAfter, 10)
        assert.deepEqual(
          notifications.map(({ integration_id, kind }) => [integration_id, kind]),
          [[sound.id, "failing"]]
        )
      })
    )
  )

  for (const damage of publicationDamages) {
    it.effect(
      `of an integration, ${damage[1]} for ${damage[0]}, does not make publications fail, and missed events can be sent`,
      () =>
        onLoggedStore((filename, lines) =>
          Effect.gen(function* () {
            const publish = Publisher.use(({ publish }) => publish([newEvent(1)]))
            const deliveries = Effect.map(publish, ([published]) => published?.deliveries ?? 0)
            yield* storesForBoth(
              (statement) => tamper(filename, statement),
              Effect.provide(deliveries, publisher),
              damage
            )
            assert.match(lines[0] ?? "", /integration 1 of building 1 can't be read: .*delete the integration/s)
            assert.lengthOf(lines, 1)
          })
        )
    )
  }

  it.effect("that is missing is logged too", () =>
    onLoggedStore((filename, lines) =>
      Effect.gen(function* () {
        const integration = yield* createIntegration()
        yield* enqueueOne(newEvent(1), integration)
        yield* tamper(filename, "DELETE FROM integrations")
        assert.deepEqual(yield* claim(start), [])
        assert.include(lines[0], `integration ${integration.id} is missing`)
      })
    )
  )

  it.effect("does not prevent opening a file with the right key", () =>
    Effect.gen(function* () {
      const config = { filename: yield* temporaryFile, encryptionKey: key }
      const first = yield* onStore(
        config,
        Effect.tap(createIntegration(), () => createIntegration())
      )
      const damage = `UPDATE integrations SET signing_secret = 'sealed:v1:AAAA' WHERE id = ${first.id}`
      yield* tamper(config.filename, damage)
      yield* open(config)
    })
  )
})
