/**
 * A service under load with one integration, and workers beside it: where the tests of faults begin.
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
 * Short, so that what a dead process held is sent again soon. The lease is the shortest that these times allow. There are as
 * many attempts as receivers on a busy machine may need that answer late.
 */
const impatience = {
  ackTimeout: "1s",
  lease: "6100ms",
  retry: { access_log: Array.from({ length: 50 }, () => "200ms") }
}

/** Writes a configuration file and answers the flags of a process that uses it. */
export const configured = Effect.fnUntraced(function* (database: string, settings: object = {}) {
  const file = join(yield* temporaryFolder, "doorhook.json")
  const config = { allowTargets: ["127.0.0.0/8"], directory, ...impatience, ...settings }
  yield* Effect.promise(() => writeFile(file, JSON.stringify(config)))
  return ["--config", file, "--database", database]
})

/** Creates an integration of building 1, as a third party does. */
export const integrate = (url: string, receiver: string) =>
  Effect.promise(async () => createIntegration(url, (await tokensOf(url)).access_token, receiver))

/** A service with a receiver that has an integration. */
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

/** Sends a signal and answers how the process ended. */
export const end = ({ child, finished, stderr, stdout }: Running, signal: NodeJS.Signals) =>
  Effect.suspend(() => {
    child.kill(signal)
    return within(
      `process ${child.pid} ends after ${signal}`,
      Effect.promise(() => finished),
      () => `it printed ${stdout()}\n${stderr()}`
    )
  })
