/**
 * A client whose names resolve slowly does not delay another client. Tested over HTTP, in a process with Node's default
 * of four threads.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe } from "@effect/vitest"
import { builtInTable, DeliveryStore, Publisher, PublishRequest } from "@doorhook/core"
import type { Delivery } from "@doorhook/core"
import { NameLookup, NodeNameResolver, UndiciTransport } from "@doorhook/node"
import { lookUpsOn } from "@doorhook/testkit/LookUps"
import { startReceiver } from "@doorhook/testkit/Receiver"
import * as Doorhook from "doorhook/effect"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { authorizeUrl, codeIn, exchange, readTokens } from "../harness/CodeGrant.ts"
import { client, directory, live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { logIn } from "../harness/LoginForm.ts"
import { callApi, createIntegration, integrationDocument } from "../harness/ThirdParty.ts"

const attacker = { ...client, client_id: "slow", client_secret: "s2" }

/** Directory with both clients and an administrator of two buildings. */
const both: Doorhook.HostDirectory = {
  ...directory,
  client: (id) =>
    id === attacker.client_id
      ? { id, name: "Slow", secret: attacker.client_secret, redirect_uris: [attacker.redirect_uri] }
      : directory.client(id),
  administers: (user, building) => user === "admin" && (building === 1 || building === 2)
}

const tokenOf = (url: string, of: typeof client | typeof attacker) =>
  Effect.promise(async () => {
    const answer = await logIn(authorizeUrl(url, of), "admin", "right")
    return (await readTokens(await exchange(url, of, codeIn(answer)))).access_token
  })

const publish = Effect.fnUntraced(function* (resource_type: "call" | "access_log", building_id: number) {
  const event = { resource_type, action: "create", building_id, data: { id: 1 } }
  const { events } = yield* Effect.fromResult(PublishRequest.readerOf(builtInTable).fromValue(event))
  yield* (yield* Publisher).publish(events)
})

const deliveries = Effect.flatMap(DeliveryStore, (store) => store.list({ limit: 100 }))

const summaryOf = (all: ReadonlyArray<Delivery>): ReadonlyArray<string> =>
  all.map(({ attempts, state }) => `${state} ${attempts}`).toSorted()

const start = Effect.fnUntraced(function* () {
  const end = Promise.withResolvers<void>()
  // Names that begin with `slow` resolve only when the test ends.
  const threads = lookUpsOn(2, (name) => (name.startsWith("slow") ? end.promise : undefined))
  yield* Effect.addFinalizer(() => Effect.sync(end.resolve))
  const lookup = NameLookup.sharing(threads.ask, NameLookup.placesOf(4))
  const engine = Doorhook.layer(
    { database: "memory", allowTargets: ["127.0.0.0/8"], ackTimeout: "1s", retry: { access_log: [], call: [] } },
    Doorhook.directoryOf(both),
    Layer.merge(UndiciTransport.layer({ lookup }), NodeNameResolver.layerOf(lookup))
  )
  const served = HttpRouter.serve(Doorhook.Routes, { routerConfig: Doorhook.routerConfig, disableListenLog: true })
  const context = yield* Layer.build(
    served.pipe(
      Layer.provideMerge(engine),
      Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
    )
  )
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed).pipe(Effect.provideContext(context))
  return { context, threads, url }
})

describe("names that resolve slowly", () => {
  live("do not delay other clients, and lookups that had to wait do not count against a receiver", function* () {
    const { context, threads, url } = yield* start()
    const token = yield* tokenOf(url, client)
    const slowToken = yield* tokenOf(url, attacker)
    const saving = Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        createIntegration(
          url,
          slowToken,
          `http://slow${n}.example/hook`,
          ["access_log"],
          "/v4/buildings/2/integrations"
        )
      )
    )
    yield* eventually(
      "one is being looked up",
      Effect.sync(() => threads.begun.length),
      (begun) => begun > 0
    )
    const receiver = yield* startReceiver(() => ({ status: 200, headers: { connection: "close" } }))
    for (const name of ["one", "other"])
      yield* Effect.promise(() => createIntegration(url, token, `http://${name}.example:${receiver.port}/hook`))
    for (let n = 1; n <= 5; n++) {
      yield* Effect.provideContext(publish(n % 2 === 0 ? "call" : "access_log", 1), context)
      yield* Effect.promise(() => receiver.until(({ length }) => length === 2 * n))
    }
    const slowOnes = () => threads.begun.filter((name) => name.startsWith("slow"))
    assert.lengthOf(slowOnes(), 1, "of the slow names one is looked up at a time")
    // All integrations of the attacker are accepted, because their names need not resolve yet.
    yield* Effect.promise(() => saving)
    yield* Effect.provideContext(publish("access_log", 2), context)
    const all = yield* eventually(
      "what can end has ended",
      Effect.provideContext(deliveries, context),
      (list) => !list.some(({ state }) => state === "delivering")
    )
    assert.deepStrictEqual(summaryOf(all), [
      ...Array.from({ length: 10 }, () => "delivered 1"),
      // This delivery's lookup ran, but took longer than the deadline.
      "exhausted 1",
      ...Array.from({ length: 29 }, () => "pending 0")
    ])
  })

  live("are not resolved for documents that are refused anyway", function* () {
    const { threads, url } = yield* start()
    const token = yield* tokenOf(url, attacker)
    const document = integrationDocument("http://slow.example/hook", ["no such type"])
    const answer = yield* Effect.promise(() => callApi(url, token, "POST", "/v4/buildings/1/integrations", document))
    assert.strictEqual(answer.status, 422)
    assert.deepStrictEqual(threads.begun, [])
  })
})
