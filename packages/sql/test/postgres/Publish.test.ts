/**
 * Publishing in the caller's own transaction, with the SQL function and with Effect SQL.
 */
import type { Integration, IntegrationId, NewEvent, ResourceTypeTable, Scope } from "@doorhook/core"
import {
  bindAll,
  builtInTable,
  BuildingId,
  callMarkOf,
  Crypto,
  declareTypes,
  DeliveryStore,
  EventId,
  JsonText,
  makeEventId,
  Matcher,
  Publisher,
  PublishRequest,
  ResourceTypes,
  Transitions,
  TenantId,
  WakeSignal
} from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { publishCall } from "@doorhook/sql"
import { PostgresPublish, PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import pg from "pg"
import { damages, publisher, storesForBoth } from "../DamagedPublications.ts"
import { describeOnPostgres, pooledDatabase, newDatabase } from "@doorhook/testkit/postgres/TestServer"

const { createIntegration, claim, newEvent, start } = StoreFixtures

const ids = fc.integer({ min: 1, max: 4 })
const types = fc.constantFrom("call" as const, "access_log" as const)
const scopes = fc.oneof(
  ids.map((id): Scope => ({ type: "building", id: BuildingId.make(id) })),
  ids.map((id): Scope => ({ type: "tenant", id: TenantId.make(id) }))
)
const bindings = fc.array(
  fc.record({ resource_type: types, actions: fc.constantFrom<ReadonlyArray<"create">>(["create"], []) }),
  { maxLength: 3 }
)
const integrations = fc.array(fc.record({ scope: scopes, bindings, enabled: fc.boolean() }), { maxLength: 8 })
const events = fc.array(
  fc.record({
    resource_type: types,
    action: fc.constant("create" as const),
    building_id: ids.map((id) => BuildingId.make(id)),
    tenant_ids: fc.array(
      ids.map((id) => TenantId.make(id)),
      { maxLength: 3 }
    ),
    data: fc.json().map((text) => JsonText.JsonText.make(`{ "value" :${text},"b":1,"a":1.0, "a":2 }`))
  }),
  { minLength: 1, maxLength: 5 }
)

/** Valid and invalid values for the members of an event. */
const odd = fc.oneof(
  fc.constantFrom(0, -1, 1.5, 1, 2, "1", "01", "-1", "1.0", "9007199254740991", "9007199254740992", "1\n"),
  fc.constantFrom(null, true, "call", "create", "door_forced", "badge", "revoke", 2 ** 53),
  fc.json()
)
const oddEvents = fc
  .record(
    {
      resource_type: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom("call", "badge") },
        { weight: 1, arbitrary: odd }
      ),
      action: fc.oneof({ weight: 6, arbitrary: fc.constantFrom("create", "revoke") }, { weight: 1, arbitrary: odd }),
      building_id: fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: odd }),
      tenant_ids: fc.oneof(
        { weight: 4, arbitrary: fc.array(fc.integer({ min: 1, max: 9 })) },
        { weight: 1, arbitrary: fc.oneof(odd, fc.array(odd, { maxLength: 3 })) }
      ),
      data: fc.oneof({ weight: 6, arbitrary: fc.constant({ id: 1 }) }, { weight: 1, arbitrary: odd })
    },
    { requiredKeys: ["building_id"] }
  )
  .map((event) => JSON.stringify(event))

const bodyOf = (event: NewEvent) => {
  const data: unknown = JSON.parse(event.data)
  return { ...event, data }
}

/** Resource types declared by the host. */
const declared = Result.getOrThrow(
  declareTypes({ door_forced: { priority: "high" }, badge: { actions: ["create", "revoke"] } })
)

/** Publishes with the SQL function, and returns the number of deliveries or the error message. */
const publishWith = (client: pg.Client, text: string) =>
  Effect.promise(() =>
    client.query<{ id: string; deliveries: number }>("SELECT * FROM doorhook.publish($1)", [text]).then(
      ({ rows }) => rows[0]?.deliveries ?? -1,
      (error: unknown) => (error instanceof Error ? error.message : String(error))
    )
  )

const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(effect))

await describeOnPostgres("publishing in SQL", (server) => {
  /** Opens a store on a database, and a database client for the host. */
  const open = Effect.fnUntraced(function* (url: string, types: ResourceTypeTable = builtInTable) {
    const store = PostgresWakeSignal.layer.pipe(
      Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url) })),
      Layer.provide(Layer.succeed(ResourceTypes, types))
    )
    const services = yield* Layer.build(Layer.fresh(store))
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const connected = new pg.Client({ connectionString: url })
        await connected.connect()
        return connected
      }),
      (connected) => Effect.promise(() => connected.end())
    )
    const host = yield* Layer.build(PgClient.layer({ url: Redacted.make(url) }))
    return { services, client, host }
  })
  const onLent = Effect.flatMap(pooledDatabase(server), ({ url }) => open(url))

  const query = (client: pg.Client, text: string, params: ReadonlyArray<unknown> = []) =>
    Effect.promise(async () => (await client.query<{ id: string; deliveries: number }>(text, [...params])).rows)

  it.live("a transaction that publishes is on the server's disk when it commits, whatever the session's settings", () =>
    Effect.gen(function* () {
      const { client } = yield* onLent
      const ask = (text: string, params: ReadonlyArray<unknown> = []) =>
        Effect.promise(async () => (await client.query<Record<string, unknown>>(text, [...params])).rows)
      const { text, values } = publishCall([newEvent(1)])
      for (const [session, used] of [
        ["off", "on"],
        ["local", "local"]
      ]) {
        yield* ask(`SET synchronous_commit = ${session}`)
        yield* ask("BEGIN")
        yield* ask("SAVEPOINT s")
        assert.strictEqual((yield* ask(text, values)).length, 1)
        yield* ask("RELEASE SAVEPOINT s")
        assert.deepStrictEqual(yield* ask("SHOW synchronous_commit"), [{ synchronous_commit: used }])
        yield* ask("COMMIT")
        assert.deepStrictEqual(yield* ask("SHOW synchronous_commit"), [{ synchronous_commit: session }])
      }
    })
  )

  it.live("creates the same deliveries as core's Matcher and Transitions", () =>
    Effect.gen(function* () {
      const { host, services } = yield* onLent
      const run = Effect.runPromiseWith(services)
      const runAsHost = Effect.runPromiseWith(host)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(integrations, events, async (wanted, published) => {
            const all: ReadonlyArray<Integration> = await run(
              Effect.forEach(wanted, ({ bindings, enabled, scope }) => {
                const status = enabled
                  ? ({ status: "enabled", disabled_reason: null } as const)
                  : ({ status: "disabled", disabled_reason: "manual" } as const)
                return createIntegration({ bindings, scope, ...status })
              })
            )
            const answers = await runAsHost(inTransaction(PostgresPublish.publish(published)))
            await run(
              Effect.gen(function* () {
                const store = yield* DeliveryStore
                for (const [index, event] of published.entries()) {
                  const { deliveries, id } = answers[index] ?? { deliveries: -1, id: EventId.make("evt_") }
                  const stored = yield* StoreFixtures.keptEvent({ ...event, id, created_at: 0 })
                  const created_at = stored?.created_at ?? 0
                  assert.deepEqual(stored, { ...event, id, created_at })
                  const expected = Matcher.match(event, all).map(({ id, status, version }) => {
                    const lane = StoreFixtures.laneFor(event.resource_type, 0)
                    const initial = { state: "pending" } as const
                    const complete = { ...event, id: EventId.make("evt_0000000000000000"), created_at }
                    const begun = Transitions.enqueue(
                      { integration_id: id, lane, initial, matched_version: version },
                      complete,
                      { status, version }
                    )
                    return [id, begun.state, begun.reason, begun.due_at]
                  })
                  const found = yield* store.list({ event_id: id, limit: 100 })
                  assert.deepEqual(
                    found.map((each) => [each.integration_id, each.state, each.reason, each.next_attempt_at]),
                    expected
                  )
                  assert.strictEqual(deliveries, expected.length)
                }
                const due = yield* claim(2 ** 50, { worker: "all" })
                for (const { event, lane } of due)
                  assert.strictEqual(lane, StoreFixtures.laneFor(event.resource_type, 0))
                const { events, states } = yield* store.summary(start)
                const everything = yield* store.list({ limit: 100_000 })
                assert.strictEqual(states.skipped, everything.filter(({ state }) => state === "skipped").length)
                assert.isAtLeast(events, published.length)
                const sql = yield* SqlClient.SqlClient
                yield* sql.unsafe("DELETE FROM integrations")
              })
            )
          }),
          { numRuns: 60 }
        )
      )
    })
  )

  it.live("accepts and refuses the same events as core's PublishRequest", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const { client } = yield* open(url, declared)
      const { fromText } = PublishRequest.readerOf(declared)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(oddEvents, async (text) => {
            const taken = await client.query("SELECT id FROM doorhook.publish($1)", [text]).then(
              () => true,
              () => false
            )
            assert.strictEqual(taken, Result.isSuccess(fromText(text)), text)
          }),
          { numRuns: 400 }
        )
      )
      for (const [text, message] of [
        [`{"resource_type":"call","action":"create","building_id":1,"data":{},"data":{}}`, /given more than once/],
        [`{"resource_type":"call","action":"create","building_id":1,"data":{"x":"${"é".repeat(131_072)}"}}`, /256 KiB/],
        [`[]`, /must be an object/],
        [`{"resource_type":"ring"}`, /resource_type must be call or access_log/],
        [`{`, /invalid input syntax for type json/]
      ] as const) {
        const refused = yield* Effect.promise(() =>
          client.query("SELECT doorhook.publish($1)", [text]).then(
            () => "taken",
            (error: unknown) => String(error)
          )
        )
        assert.match(refused, message)
      }
    })
  )

  it.live("accepts types declared by a doorhook that opened the database, in the lane of their priority", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const event = (resource_type: string, action = "create") =>
        JSON.stringify({ resource_type, action, building_id: 1, data: { id: 1 } })
      const built = yield* open(url)
      const refusal = (types: string) => `resource_type must be ${types}; the setting resourceTypes declares others`
      assert.strictEqual(yield* publishWith(built.client, event("door_forced")), refusal("call or access_log"))

      const { client, services } = yield* open(url, declared)
      yield* Effect.provide(createIntegration({ bindings: bindAll(declared) }), services)
      for (const [type, action] of [
        ["badge", "revoke"],
        ["access_log", "create"],
        ["door_forced", "create"]
      ] as const) {
        assert.strictEqual(yield* publishWith(client, event(type, action)), 1)
      }
      assert.strictEqual(
        yield* publishWith(client, event("window")),
        refusal("call or access_log or door_forced or badge")
      )
      assert.strictEqual(yield* publishWith(client, event("door_forced", "revoke")), "action must be create")
      assert.strictEqual(yield* publishWith(client, event("badge", "burn")), "action must be create or revoke")
      const due = yield* Effect.provide(claim(2 ** 50, { worker: "all" }), services)
      assert.deepStrictEqual(
        due.map(({ event: { action, resource_type }, lane }) => [resource_type, action, lane]),
        [
          ["door_forced", "create", 0],
          ["badge", "revoke", 2],
          ["access_log", "create", 2]
        ]
      )

      // Opening without declared types removes nothing. Opening with a different declaration only adds actions.
      yield* open(url)
      assert.strictEqual(yield* publishWith(client, event("door_forced")), 1)
      const changed = yield* open(url, Result.getOrThrow(declareTypes({ door_forced: { actions: ["begin", "end"] } })))
      assert.strictEqual(yield* publishWith(client, event("door_forced", "end")), 0)
      assert.strictEqual(
        yield* publishWith(client, event("door_forced", "burn")),
        "action must be create or begin or end"
      )
      const [lane] = yield* Effect.provide(claim(2 ** 50, { worker: "all" }), services)
      assert.strictEqual(lane?.lane, 0)

      // A worker whose settings are agreed changes the type.
      const beat = { now: 0, until: 2 ** 50, settings: { resourceTypes: "changed" } }
      yield* Effect.provide(
        DeliveryStore.use((store) => store.heartbeat({ worker: "own", ...beat })),
        changed.services
      )
      assert.strictEqual(yield* publishWith(client, event("door_forced")), "action must be begin or end")
      assert.strictEqual(yield* publishWith(client, event("door_forced", "end")), 0)
    })
  )

  it.live("reads the id of a call as core does, whatever else the data has", () =>
    Effect.gen(function* () {
      const { client } = yield* onLent
      yield* query(client, "SET search_path = doorhook")
      const texts = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\0", "\ud800", "\\", "\\u0000", "7"))
      const values = fc.oneof(
        texts.map((text) => JSON.stringify(text)),
        fc.constantFrom(
          "7",
          "-7",
          "7.0",
          "7e0",
          "9007199254740993",
          "null",
          "true",
          '{"id":7}',
          '""',
          '"\\u00fc"',
          '"\\\\u00fc"'
        ),
        fc.constant('"\\ud83d\\ude00"')
      )
      const datas = fc
        .array(fc.tuple(fc.constantFrom("id", "id", "note", "i\\u0064"), values), { maxLength: 4 })
        .map((members) => `{ ${members.map(([name, value]) => `"${name}" : ${value}`).join(" , ")} }`)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(datas, async (data) => {
            const { rows } = await client.query<{ id: string | null }>("SELECT call_id($1, 'id') AS id", [data])
            const mark = callMarkOf({ resource_type: "call", data: JsonText.JsonText.make(data) })
            assert.strictEqual(rows[0]?.id ?? null, mark?.id ?? null, data)
          }),
          { numRuns: 500 }
        )
      )
    })
  )

  it.live("ends a call in the host's transaction, in either order, and refuses an end without a call", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const withEnds = Result.getOrThrow(declareTypes({}, { hasCallEnd: true }))
      const { client, services } = yield* open(url, withEnds)
      yield* Effect.provide(createIntegration({ bindings: bindAll(withEnds) }), services)
      const event = (resource_type: string, data: unknown) =>
        JSON.stringify({ resource_type, action: "create", building_id: 1, data })
      const states = Effect.map(
        Effect.provide(
          DeliveryStore.use((store) => store.list({ limit: 100 })),
          services
        ),
        (all) => all.map(({ reason, state }) => (reason === null ? state : `${state}: ${reason}`))
      )
      assert.match(String(yield* publishWith(client, event("call_end", { id: 1 }))), /^data\.call_id must be/)
      yield* publishWith(client, event("call", { id: 7 }))
      yield* query(client, "BEGIN")
      yield* publishWith(client, event("call_end", { id: 1, call_id: "7" }))
      yield* query(client, "ROLLBACK")
      assert.deepStrictEqual(yield* states, ["pending"])
      yield* publishWith(client, event("call_end", { id: 1, call_id: "7" }))
      yield* publishWith(client, event("call_end", { id: 2, call_id: 8 }))
      yield* publishWith(client, event("call", { id: "8" }))
      yield* publishWith(client, event("call", { id: "9" }))
      const ended = "cancelled: call_ended"
      assert.deepStrictEqual(yield* states, [ended, "pending", "pending", ended, "pending"])
      const { states: counts } = yield* Effect.provide(
        DeliveryStore.use((store) => store.summary(start)),
        services
      )
      assert.deepInclude(counts, { pending: 3, cancelled: 2, skipped: 0 })
    })
  )

  it.live("accepts ids as text, and makes event ids in the same form as core", () =>
    Effect.gen(function* () {
      const { client, services } = yield* onLent
      const text = JSON.stringify({
        resource_type: "call",
        action: "create",
        building_id: "12",
        tenant_ids: ["101", 102],
        data: {}
      })
      const [published] = yield* query(client, "SELECT * FROM doorhook.publish($1)", [text])
      const id = EventId.make(published?.id ?? "")
      const called = {
        ...StoreFixtures.newEvent(1),
        id,
        building_id: BuildingId.make(12),
        resource_type: "call"
      } as const
      const stored = yield* Effect.provide(StoreFixtures.keptEvent(called), services)
      assert.deepEqual([stored?.building_id, stored?.tenant_ids], [12, [101, 102]])
      const form = /^evt_[0-9a-z]{9}[0-9a-hjkmnp-tv-z]{20}$/
      const own = yield* Effect.provide(
        Crypto.use((crypto) => Effect.succeed(makeEventId(crypto, Date.now()))),
        Crypto.layerWebCrypto
      )
      assert.match(own, form)
      const ids = yield* query(client, "SELECT doorhook.make_event_id(n) AS id FROM generate_series(1, 1000) AS n")
      for (const each of [published, ...ids]) assert.match(each?.id ?? "", form)
      // Every character occurs at each of these positions, so no fixed digit of a UUID is left.
      for (let place = 13; place < 33; place++) {
        assert.strictEqual(new Set(ids.map((each) => each.id[place])).size, 32)
      }
      const refused = yield* Effect.promise(() =>
        client.query("SELECT doorhook.publish($1)", [text.replace('"12"', '"abc"')]).then(
          () => "taken",
          (error: unknown) => String(error)
        )
      )
      assert.include(refused, 'building_id must be a positive whole number, not "abc"')
    })
  )

  it.live(
    "in the host's transaction delivers and wakes workers after a commit, and leaves nothing after a rollback",
    () =>
      Effect.gen(function* () {
        const { client, host, services } = yield* open(server.url(yield* newDatabase(server)))
        const wake = Context.get(services, WakeSignal)
        const store = Context.get(services, DeliveryStore)
        yield* wake.wait
        yield* createIntegration().pipe(Effect.provideContext(services))
        yield* query(client, "CREATE TABLE doors (id integer)")
        const event = newEvent(1, { data: JsonText.JsonText.make(`{"b":1, "a":2,"n":1.0}`) })
        const inEffect = (end: Effect.Effect<void, string>) =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const write = Effect.andThen(sql`INSERT INTO doors VALUES (1)`, PostgresPublish.publish([event]))
            const [published] = yield* sql.withTransaction(Effect.tap(write, () => end))
            return published
          }).pipe(Effect.provideContext(host))
        const inPg = Effect.fnUntraced(function* (end: "COMMIT" | "ROLLBACK") {
          yield* query(client, "BEGIN")
          yield* query(client, "INSERT INTO doors VALUES (2)")
          const [published] = yield* query(client, "SELECT * FROM doorhook.publish($1)", [
            JSON.stringify(bodyOf(event))
          ])
          yield* query(client, end)
          return published
        })

        assert.strictEqual(yield* Effect.flip(inEffect(Effect.fail("no"))), "no")
        yield* inPg("ROLLBACK")
        assert.strictEqual((yield* store.summary(start)).events, 0)
        assert.deepEqual(yield* store.list({ limit: 9 }), [])

        const ofEffect = yield* inEffect(Effect.void)
        yield* wake.wait
        const ofPg = yield* inPg("COMMIT")
        yield* wake.wait
        const { events, states } = yield* store.summary(start)
        assert.deepEqual([events, states.pending], [2, 2])
        const { deliveries: due } = yield* store.claim({
          now: Number.MAX_SAFE_INTEGER,
          worker: "t",
          limit: 9,
          limitPerIntegration: 9,
          limits: new Map<IntegrationId, number>()
        })
        assert.deepEqual(
          due.map(({ event }) => [event.id, event.data]),
          [
            [ofEffect?.id, event.data],
            [ofPg?.id, `{"b":1,"a":2,"n":1}`]
          ]
        )
        assert.strictEqual((yield* query(client, "SELECT id FROM doors ORDER BY id")).length, 2)
      })
  )

  for (const damage of damages) {
    for (const way of ["doorhook.publish", "the publisher"] as const) {
      it.live(`by ${way} also stores a delivery for an integration with ${damage[1]} for ${damage[0]}`, () =>
        Effect.gen(function* () {
          const { client, services } = yield* onLent
          const call = "SELECT id, deliveries FROM doorhook.publish($1)"
          const ofFunction = Effect.map(query(client, call, [JSON.stringify(bodyOf(newEvent(1)))]), ([row]) => row)
          const ofPublisher = Publisher.use(({ publish }) => publish([newEvent(1)])).pipe(
            Effect.map(([published]) => published),
            Effect.provide(publisher)
          )
          yield* storesForBoth(
            (statement) => query(client, `SET search_path = doorhook; ${statement}`),
            Effect.map(way === "the publisher" ? ofPublisher : ofFunction, (one) => one?.deliveries ?? 0),
            damage
          ).pipe(Effect.provideContext(services), Effect.provide(Logger.layer([])))
        })
      )
    }
  }

  it.live("in Effect outside of a transaction is refused, and nothing is published", () =>
    Effect.gen(function* () {
      const { host, services } = yield* onLent
      const refused = yield* Effect.flip(PostgresPublish.publish([newEvent(1)]).pipe(Effect.provideContext(host)))
      assert.match(
        refused.message,
        /no transaction has begun on this client\. Nothing was changed; call publish inside sql\.withTransaction/
      )
      const { events } = yield* Context.get(services, DeliveryStore).summary(start)
      assert.strictEqual(events, 0)
    })
  )

  it.live("in Effect explains that doorhook is missing or not allowed for this user; the transaction can go on", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      const refusedIn = (before: string) =>
        inTransaction(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* sql.unsafe(before)
            const refused = yield* Effect.flip(PostgresPublish.publish([newEvent(1)]))
            assert.lengthOf(yield* sql.unsafe("SELECT 1"), 1)
            return refused.message
          })
        )
      const host = yield* Layer.build(PgClient.layer({ url: Redacted.make(url) }))
      const absent = yield* refusedIn("SELECT 1").pipe(Effect.provideContext(host))
      assert.match(absent, /the database has no doorhook\.publish\. Start doorhook on this database once/)
      yield* open(url)
      const role = "SET LOCAL ROLE pg_monitor"
      const barred = yield* refusedIn(role).pipe(Effect.provideContext(host))
      assert.match(
        barred,
        /Nothing was changed; the database user pg_monitor may not publish\. Run as .*: GRANT USAGE ON SCHEMA doorhook TO pg_monitor; GRANT/
      )
    })
  )

  it.live("text and json keep data byte for byte; jsonb has its own order", () =>
    Effect.gen(function* () {
      const { client, services } = yield* onLent
      const data = String.raw`{ "b" : 1.0, "a":"\u0000", "half":"\ud800", "\\u0041":"\\\u0041\\", "b":2 }`
      const text = `{"resource_type":"call","action":"create","building_id":1,"data":${data}}`
      const dataOf = Effect.fnUntraced(function* (call: string, params: ReadonlyArray<unknown> = []) {
        const [published] = yield* query(client, `SELECT id FROM ${call}`, params)
        const called = {
          ...StoreFixtures.newEvent(1),
          id: EventId.make(published?.id ?? ""),
          resource_type: "call"
        } as const
        return (yield* Effect.provide(StoreFixtures.keptEvent(called), services))?.data
      })
      assert.strictEqual(yield* dataOf(`doorhook.publish('${text}')`), data)
      assert.strictEqual(yield* dataOf(`doorhook.publish($1)`, [text]), data)
      assert.strictEqual(yield* dataOf(`doorhook.publish($1::json)`, [text]), data)
      const plain = text.replace(data, `{ "b" : 1.0, "a":"x", "b":2 }`)
      assert.strictEqual(yield* dataOf(`doorhook.publish($1::jsonb)`, [plain]), `{"a": "x", "b": 2}`)
    })
  )

  it.live("a host's user needs only the right to call it, and sees no secrets", () =>
    Effect.gen(function* () {
      const { name, url } = yield* pooledDatabase(server)
      yield* Layer.build(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) })))
      const role = `${name}_host`
      yield* Effect.acquireRelease(
        Effect.promise(() => server.administer(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA doorhook TO ${role}`, name)),
        () => Effect.promise(() => server.administer(`DROP OWNED BY ${role}; DROP ROLE ${role}`, name))
      )
      const call = `SELECT id FROM doorhook.publish('{"resource_type":"call","action":"create","building_id":1,"data":{}}')`
      const asHost = (statement: string) =>
        Effect.promise(() =>
          server.administer(`SET ROLE ${role}; ${statement}`, name).then(
            () => "done",
            (error: unknown) => String(error)
          )
        )
      assert.match(yield* asHost(call), /permission denied for function publish/)
      yield* Effect.promise(() =>
        server.administer(`GRANT EXECUTE ON FUNCTION doorhook.publish(text, bigint) TO ${role}`, name)
      )
      assert.strictEqual(yield* asHost(call), "done")
      assert.match(yield* asHost("SELECT * FROM doorhook.integrations"), /permission denied/)
    })
  )
})
