/**
 * The setup for fault tests: a service under load with one integration, and optional workers.
 */
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import type { Running } from "@doorhook/testkit/Process"
import { within } from "./Eventually.ts"
import { directory, tokensOf } from "./KnownDirectory.ts"
import { createIntegration } from "./ThirdParty.ts"

/**
 * Short times, so that another process soon sends the deliveries of a killed process. The lease is the shortest that
 * doorhook allows with this timeout. There are 50 retries, because receivers might answer late on a busy machine.
 */
const impatience = {
  ackTimeout: "1s",
  lease: "6100ms",
  retry: { access_log: Array.from({ length: 50 }, () => "200ms") }
}

/** Writes a configuration file and returns the flags that use it. */
export const configured = Effect.fnUntraced(function* (database: string, settings: object = {}) {
  const file = join(yield* temporaryFolder, "doorhook.json")
  const config = { allowTargets: ["127.0.0.0/8"], directory, ...impatience, ...settings }
  yield* Effect.promise(() => writeFile(file, JSON.stringify(config)))
  return ["--config", file, "--database", database]
})

/** Creates an integration for building 1, as a third party would. */
export const integrate = (url: string, receiver: string) =>
  Effect.promise(async () => createIntegration(url, (await tokensOf(url)).access_token, receiver))

/** Starts a service, an integration, and its receiver. */
export const startDelivering = Effect.fnUntraced(function* (
  flags: ReadonlyArray<string>,
  answer?: Parameters<typeof startReceiver>[0]
) {
  const receiver = yield* startReceiver(answer)
  const service = yield* startService(flags)
  yield* integrate(service.url, receiver.url)
  return { receiver, service }
})

export const startWorker = Effect.fnUntraced(function* (flags: ReadonlyArray<string>) {
  const worker = yield* startDoorhook(["worker", ...flags])
  yield* Effect.promise(() => worker.printed(/doorhook worker ready/))
  return worker
})

/** Sends a signal to a process, and returns its exit code and output once it ends. */
export const end = ({ child, finished, stderr, stdout }: Running, signal: NodeJS.Signals) =>
  Effect.suspend(() => {
    child.kill(signal)
    return within(
      `process ${child.pid} ends after ${signal}`,
      Effect.promise(() => finished),
      () => `it printed ${stdout()}\n${stderr()}`
    )
  })
