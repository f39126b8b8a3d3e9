/**
 * `npm start`: a complete demo of doorhook. It runs a service on SQLite with a directory of two buildings, integrations
 * that send to a demo receiver, and live simulated traffic.
 */
import {
  builtInTable,
  CommandFailure,
  Deliveries,
  DirectoryDocument,
  DocumentDirectory,
  DurationText,
  PublishRequest,
  Publisher
} from "@doorhook/core"
import { OperatorKey } from "@doorhook/server"
import { demoDirectory, Measurements, runDemo, showProgress } from "@doorhook/simulator"
import type { Target } from "@doorhook/simulator"
import type { DeliveryId, EventId } from "@doorhook/core"
import { Clock, Console, Effect, Layer, Option, Random, Redacted, Schedule } from "effect"
import { Command, Flag } from "effect/cli"
import { runMain } from "../command/runMain.ts"
import { untilStopped } from "../command/untilStopped.ts"
import * as Serving from "../service/HttpService.ts"
import { DemoReceiver } from "./DemoReceiver.ts"
import { ensureIntegrations } from "./DemoIntegrations.ts"
import type { Accepted } from "./Figures.ts"
import { endReport, liveLine, newestDelivery, storedAfter } from "./Figures.ts"

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
const thisService = (publisher: Publisher["Service"], accepted: Map<EventId, number>): Target<never> => ({
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
