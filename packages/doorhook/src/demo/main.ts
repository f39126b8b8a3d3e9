/**
 * `npm start`: a complete demo of doorhook. It runs a service on SQLite with a directory of two buildings, integrations
 * that send to a demo receiver, and live simulated traffic.
 */
import type { DeliveryId, EventId, Scope } from "@doorhook/core"
import {
  bindAll,
  BuildingId,
  builtInTable,
  ClientId,
  CommandFailure,
  Deliveries,
  DirectoryDocument,
  DocumentDirectory,
  DurationText,
  Integrations,
  Publisher,
  PublishRequest,
  TenantId,
  UserId
} from "@doorhook/core"
import { OperatorKey } from "@doorhook/server"
import type { Target } from "@doorhook/simulator"
import { demoDirectory, Measurements, runDemo, showProgress } from "@doorhook/simulator"
import { Clock, Console, Context, Effect, Layer, Option, Random, Redacted, Schedule } from "effect"
import { Command, Flag } from "effect/cli"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import { runMain, untilStopped } from "../command/Process.ts"
import * as Serving from "../service/HttpService.ts"
import type { Accepted } from "./Figures.ts"
import { endReport, liveLine, newestDelivery, storedAfter } from "./Figures.ts"

/** Fraction of requests that get 503 instead of 200. */
const badMoments = 0.01

/** Minimum and maximum delay, in milliseconds. */
const slowness = [3, 40] as const

const receive = (request: IncomingMessage, response: ServerResponse): void => {
  const [fastest, slowest] = slowness
  // An unread body would block the next request on the connection.
  request.resume()
  response.statusCode = Math.random() < badMoments ? 503 : 200
  setTimeout(() => response.end(), fastest + Math.random() * (slowest - fastest))
}

const listening = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer(receive)
    await once(server.listen(0, "127.0.0.1"), "listening")
    return server
  }),
  (server) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

export class DemoReceiver extends Context.Service<DemoReceiver, { readonly url: string }>()(
  "doorhook/demo/DemoReceiver"
) {
  /** Listens on a free port of this machine. */
  static readonly layer = Layer.effect(
    DemoReceiver,
    Effect.map(listening, (server) => {
      const address = server.address()
      const port = address !== null && typeof address === "object" ? address.port : 0
      return { url: `http://127.0.0.1:${port}/hook` }
    })
  )
}

const owners: ReadonlyArray<{ readonly scope: Scope; readonly login: string }> = [
  { scope: { type: "building", id: BuildingId.make(1) }, login: "admin@example.com" },
  { scope: { type: "building", id: BuildingId.make(2) }, login: "admin@example.com" },
  { scope: { type: "tenant", id: TenantId.make(101) }, login: "tenant@example.com" }
]

const documentFor = (url: string) => ({
  data: {
    type: "integrations",
    attributes: {
      integrator: "webhook",
      configuration: { url, method: "post" },
      bindings: bindAll(builtInTable)
    }
  }
})

/** Ensures that all integrations exist, are enabled and point at the receiver. */
export const ensureIntegrations = Effect.fnUntraced(function* (url: string) {
  const integrations = yield* Integrations
  for (const { login, scope } of owners) {
    const actor = { user_id: UserId.make(login), client_id: ClientId.make("demo-client") }
    const { items } = yield* integrations.list(actor, scope, { offset: 0, limit: 1 })
    const [existing] = items
    yield* existing === undefined
      ? integrations.create(actor, scope, documentFor(url), null)
      : integrations.replace(actor, scope, existing.id, documentFor(url), null)
  }
})

const database = ".doorhook/demo.db"

/** Factor by which the traffic is increased, because real traffic would be too slow to watch. */
const rateScale = 400

const directory = Layer.unwrap(
  Effect.map(Effect.fromResult(DirectoryDocument.fromValue(demoDirectory)), (document) =>
    DocumentDirectory.layer(document)
  )
)

/** Prints the addresses and logins that a newcomer needs. */
const introduce = Effect.gen(function* () {
  const url = yield* Serving.address
  const receiver = yield* DemoReceiver
  const { key } = yield* OperatorKey
  yield* Console.log(
    [
      `doorhook listening on ${url}`,
      "",
      `  authorize    ${url}/oauth/authorize?response_type=code&client_id=demo-client`,
      `  API          ${url}/v4/buildings/1/integrations`,
      `  OpenAPI      ${url}/openapi.json`,
      `  health       ${url}/health/ready`,
      `  console      ${url}/console (operator key: ${Redacted.value(key)})`,
      `  deliveries   npx doorhook deliveries list --url ${url} --operator-key ${Redacted.value(key)}`,
      "",
      ...demoDirectory.users.map(({ login, password }) => `  login        ${login} / ${password}`),
      ...demoDirectory.clients.map(({ id, secret }) =>
        secret === undefined ? `  client       ${id} (public)` : `  client       ${id} / ${secret}`
      ),
      `  receiver     ${receiver.url}`,
      ""
    ].join("\n")
  )
})

const reader = PublishRequest.readerOf(builtInTable)

/**
 * Makes this process's service a target of the simulator. Records every accepted event, even if the run is interrupted.
 */
const thisService = (publisher: Publisher["Service"], accepted: Map<EventId, number>): Target => ({
  name: "the demo's service",
  greet: Effect.succeed({ _tag: "Accepted", deliveries: 0, events: [] }),
  publish: (events, key) =>
    Effect.fromResult(reader.fromValue(events)).pipe(
      Effect.flatMap((request) => publisher.publish(request.events, { key, fingerprint: key })),
      Effect.match({
        onFailure: (error) =>
          error._tag === "StoreError"
            ? { _tag: "Unavailable" as const, why: error.message, retryAfter: null }
            : { _tag: "Refused" as const, status: 422, why: error.message },
        onSuccess: (events) => {
          const deliveries = events.reduce((sum, { deliveries }) => sum + deliveries, 0)
          for (const event of events) accepted.set(event.id, event.deliveries)
          return { _tag: "Accepted" as const, deliveries, events }
        }
      }),
      Effect.uninterruptible
    )
})

/** Publishes live traffic until interrupted. */
const traffic = Effect.fnUntraced(function* (accepted: Map<EventId, number>) {
  const seed = Math.floor(yield* Random.nextBetween(1, 1_000_000))
  yield* runDemo({ seed, rateScale }, thisService(yield* Publisher, accepted), new Measurements())
})

const demo = Effect.fnUntraced(function* (stopAfter: number | null) {
  const receiver = yield* DemoReceiver
  yield* ensureIntegrations(receiver.url)
  const before = yield* newestDelivery
  yield* introduce
  const accepted = new Map<EventId, number>()
  const began = yield* Clock.currentTimeMillis
  const line = Effect.flatMap(Clock.currentTimeMillis, (now) => liveLine(accepted.size, now - began))
  const running = Effect.raceFirst(traffic(accepted), showProgress(line))
  yield* (stopAfter === null ? running : Effect.timeoutOption(running, stopAfter)).pipe(
    Effect.onExit(() => finish(accepted, before))
  )
})

/** Maximum time in milliseconds to wait for pending deliveries and attempts in flight before the summary. */
const drainPatience = 6_000

/** Waits until no delivery is pending or being sent, but no longer than `drainPatience`. */
const drain = Effect.flatMap(Deliveries, ({ summary }) => summary).pipe(
  Effect.repeat({
    until: ({ states }) => states.delivering + states.pending === 0,
    schedule: Schedule.spaced("50 millis")
  }),
  Effect.timeoutOption(drainPatience)
)

/** Prints the summary. Fails if an accepted event is missing. */
const finish = Effect.fnUntraced(function* (accepted: Accepted, before: DeliveryId | undefined) {
  yield* Console.log("\nstopping: finishing current deliveries")
  yield* drain
  const { complete, lines } = endReport(accepted, yield* storedAfter(before), yield* (yield* Deliveries).summary)
  yield* Console.log(lines.join("\n"))
  if (!complete)
    return yield* new CommandFailure({ message: "accepted events are missing from the database", exitCode: 1 })
})

const command = Command.make(
  "npm start",
  {
    for: Flag.String("for").pipe(
      Flag.withDescription("Stop after this time, like 20s (default: at Ctrl-C)"),
      Flag.withMetavar("DURATION"),
      Flag.optional
    ),
    port: Flag.Int("port").pipe(Flag.withDescription("Port to listen on"), Flag.withDefault(Serving.defaultPort))
  },
  Effect.fnUntraced(function* (flags) {
    const stopAfter = yield* Option.match(flags.for, {
      onNone: () => Effect.succeed(null),
      onSome: (text) =>
        Option.match(DurationText.parse(text), {
          onNone: () => CommandFailure.usage(`--for: ${JSON.stringify(text)} is not ${DurationText.expected}`),
          onSome: (millis) => Effect.succeed(millis)
        })
    })
    const config = { port: flags.port, database, allowTargets: ["127.0.0.0/8"] }
    const services = DemoReceiver.layer.pipe(Layer.provideMerge(Serving.layer(config, directory)))
    yield* demo(stopAfter).pipe(Effect.provide(services))
  }, untilStopped)
).pipe(Command.withDescription("Run a demo of doorhook with two buildings, a receiver and live traffic"))

runMain(command, process.argv.slice(2))
