/**
 * A site that grows, as processes: the demo on a file, moved to PostgreSQL with two workers, then half of its buildings to a
 * second cell. A receiver and streams behind one address count every event.
 */
import { demoDirectory } from "@doorhook/simulator"
import { demoProgram, operatorKey, runDoorhook, startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { EventStream } from "@doorhook/testkit/EventStream"
import { listening } from "@doorhook/testkit/ListeningServer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { assert } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { writeFileSync } from "node:fs"
import { createServer, request as send } from "node:http"
import { join } from "node:path"
import { readTokens } from "./harness/CodeGrant.ts"
import { live } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { callApi, discover, integrationDocument, takeTokens } from "./harness/ThirdParty.ts"

const buildings = [1, 2] as const
type Building = (typeof buildings)[number]

const Accepted = Schema.Struct({ events: Schema.Array(Schema.Struct({ id: Schema.String })) })
const Feed = Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String })),
  meta: Schema.Struct({ cursor: Schema.String })
})

/** The host's address: routes buildings to their cells, and everything else to the first cell. */
const startRouter = Effect.gen(function* () {
  const cells = { home: "", of: new Map<string, string>() }
  const server = createServer((incoming, response) => {
    const [, building = ""] = /^\/v4\/buildings\/(\d+)/.exec(incoming.url ?? "") ?? []
    const target = new URL(incoming.url ?? "/", cells.of.get(building) ?? cells.home)
    const { headers, method } = incoming
    const outgoing = send(target, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      answer.on("error", () => response.destroy())
    })
    outgoing.on("error", () => response.destroy())
    response.on("close", () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  const { url } = yield* listening(server)
  return { url, cells }
})

/** Repeats a request until its cell answers it. */
const persistently = (call: () => Promise<Response>, status: number) =>
  eventually(
    `the answer is ${status}`,
    Effect.promise(() =>
      call().then(
        (answer) => answer,
        () => null
      )
    ),
    (answer): answer is Response => answer?.status === status
  )

await describeOnPostgres("a site that grows", (server) => {
  live(
    "loses no event from a file to PostgreSQL to a second cell, for receivers and streams behind one address",
    function* () {
      const folder = yield* temporaryFolder
      const [first, second] = [server.url(yield* newDatabase(server)), server.url(yield* newDatabase(server))]
      const directory = join(folder, "directory.json")
      writeFileSync(directory, JSON.stringify(demoDirectory))
      const router = yield* startRouter
      const receiver = yield* startReceiver((_, nth) => (nth % 7 === 0 ? 503 : 200))

      // A file, with a partner.
      const demo = yield* startNode([demoProgram, "--port", "0"], { cwd: folder })
      const [, demoUrl = ""] = yield* Effect.promise(() => demo.printed(/doorhook listening on (http:\S+)/))
      const [, demoKey = ""] = yield* Effect.promise(() => demo.printed(/operator key: (\S+)\)/))
      router.cells.home = demoUrl
      const client = demoDirectory.clients.find(({ secret }) => secret !== undefined)
      const admin = demoDirectory.users.find(({ buildings: its }) => its?.length === 2)
      const redirect = client?.redirect_uris[0] ?? ""
      const config = yield* Effect.promise(() => discover(demoUrl, client?.id ?? "", client?.secret ?? ""))
      const tokens = yield* Effect.promise(() =>
        takeTokens(config, redirect, admin?.login ?? "", admin?.password ?? "")
      )
      let token = tokens.access_token
      const feeds = new Map<Building, string>()
      for (const building of buildings) {
        const path = `/v4/buildings/${building}`
        const created = yield* Effect.promise(() =>
          callApi(router.url, token, "POST", `${path}/integrations`, integrationDocument(receiver.url))
        )
        assert.strictEqual(created.status, 201)
        const now = yield* Effect.promise(() => callApi(router.url, token, "GET", `${path}/events?since=2999-01-01`))
        const { meta } = Schema.decodeUnknownSync(Feed)(yield* Effect.promise(() => now.json()))
        feeds.set(building, meta.cursor)
      }

      // Streams that connect again where they were, and a publisher that repeats what was not accepted.
      const seen = new Map<Building, Array<string>>(buildings.map((building) => [building, []]))
      const follow = (building: Building) =>
        Effect.promise(async (signal) => {
          let cursor = feeds.get(building) ?? ""
          while (!signal.aborted) {
            try {
              const stream = await EventStream.open(`${router.url}/v4/buildings/${building}/events`, {
                authorization: `Bearer ${token}`,
                "last-event-id": cursor
              })
              signal.addEventListener("abort", () => stream.close())
              for (
                let line = await stream.nextEvent();
                line !== null && stream.response.ok;
                line = await stream.nextEvent()
              ) {
                if (line.event === "event") seen.get(building)?.push(Schema.decodeUnknownSync(Item)(line.data).id)
                cursor = stream.lastId ?? cursor
              }
            } catch {
              // The cell is stopped. The next turn connects again.
            }
            await new Promise((resolve) => setImmediate(resolve))
          }
        })
      const Item = Schema.fromJsonString(Schema.Struct({ id: Schema.String }))
      const streams = yield* Effect.forEach(buildings, (building) => Effect.forkChild(follow(building)))
      const accepted = new Map<Building, Array<string>>(buildings.map((building) => [building, []]))
      const publishers = new Map<Building, string>(buildings.map((building) => [building, demoUrl]))
      let key = demoKey
      let published = 0
      const publish = (building: Building) =>
        Effect.gen(function* () {
          const id = ++published
          const event = { resource_type: "access_log", action: "create", building_id: building, data: { id } }
          const answer = yield* persistently(
            () =>
              callApi(publishers.get(building) ?? "", key, "POST", "/operator/events", event, {
                "idempotency-key": `growth-${id}`
              }),
            202
          )
          const { events } = Schema.decodeUnknownSync(Accepted)(
            yield* Effect.promise(() => answer?.json() ?? Promise.reject())
          )
          accepted.get(building)?.push(...events.map((one) => one.id))
        })
      const publishing = yield* Effect.forEach(buildings, (building) =>
        Effect.forkChild(Effect.forever(Effect.andThen(publish(building), Effect.sleep("20 millis"))))
      )
      const everywhere = (count: number) =>
        eventually(
          "all streams go on",
          Effect.sync(() => buildings.map((building) => seen.get(building)?.length ?? 0)),
          (counts) => counts.every((each) => each >= count)
        )
      yield* everywhere(20)

      // To PostgreSQL, with two workers.
      const file = join(folder, ".doorhook", "demo.db")
      const moving = yield* startDoorhook(["move", "--from", file, "--to", first])
      yield* Effect.promise(() => moving.complained(/Now stop the service/))
      demo.child.kill("SIGINT")
      const moved = yield* Effect.promise(() => moving.finished)
      assert.strictEqual(moved.code, 0, moved.stderr)
      const shared = ["--directory", directory, "--allow-target", "127.0.0.0/8", "--public-url", router.url]
      const cell = yield* startService(["--database", first, "--workers", "2", ...shared])
      router.cells.home = cell.url
      key = operatorKey
      for (const building of buildings) publishers.set(building, cell.url)
      yield* everywhere(Math.max(...[...seen.values()].map(({ length }) => length)) + 20)

      // Half of the buildings to a second cell, with the same clients and tokens.
      const created = yield* runDoorhook(["migrate", "--first-id", "1000000000000", "--database", second])
      assert.strictEqual(created.code, 0, created.stderr)
      const other = yield* startService(["--database", second, ...shared], { DOORHOOK_AUTHORIZATION_DATABASE: first })
      const parting = yield* runDoorhook([
        "move",
        "--buildings",
        "2",
        "--tenants",
        "none",
        "--from",
        first,
        "--to",
        second
      ])
      assert.strictEqual(parting.code, 0, parting.stderr)
      yield* persistently(() => callApi(cell.url, token, "GET", "/v4/buildings/2/integrations"), 421)
      router.cells.of.set("2", other.url)
      publishers.set(2, other.url)
      const refreshed = yield* Effect.promise(async () =>
        readTokens(
          await fetch(`${router.url}/oauth/token`, {
            method: "POST",
            body: new URLSearchParams({
              grant_type: "refresh_token",
              client_id: client?.id ?? "",
              refresh_token: tokens.refresh_token ?? ""
            })
          })
        )
      )
      token = refreshed.access_token
      for (const building of buildings) {
        const path = `/v4/buildings/${building}/integrations`
        assert.strictEqual((yield* Effect.promise(() => callApi(router.url, token, "GET", path))).status, 200)
      }
      yield* everywhere(Math.max(...[...seen.values()].map(({ length }) => length)) + 20)

      // Every event has arrived everywhere.
      yield* Effect.forEach(publishing, Fiber.interrupt, { discard: true })
      for (const building of buildings) {
        const all: Array<string> = []
        for (let cursor = feeds.get(building) ?? ""; ;) {
          const page = yield* Effect.promise(() =>
            callApi(router.url, token, "GET", `/v4/buildings/${building}/events?after=${cursor}`)
          )
          const { data, meta } = Schema.decodeUnknownSync(Feed)(yield* Effect.promise(() => page.json()))
          all.push(...data.map(({ id }) => id))
          cursor = meta.cursor
          if (data.length === 0) break
        }
        assert.includeMembers(all, accepted.get(building) ?? [])
        const streamed = yield* eventually(
          "the stream has all events",
          Effect.sync(() => seen.get(building) ?? []),
          ({ length }) => length >= all.length
        )
        assert.deepStrictEqual(streamed, all)
        yield* Effect.promise(() =>
          receiver.until((received) => {
            const arrived = new Set(received.map(({ headers }) => headers["webhook-id"]))
            return all.every((id) => arrived.has(id))
          })
        )
      }
      yield* Effect.forEach(streams, Fiber.interrupt, { discard: true })
    },
    600_000
  )
})
