/**
 * A service under load with one integration, and workers beside it: where the tests of faults begin.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import type { Running } from "@doorhook/testkit/Process"
import { callApi, discover, integrationDocument, takeTokens } from "./ThirdParty.ts"

export const directory = fileURLToPath(new URL("directory.json", import.meta.url))

/** Short, so that what a dead process held is sent again soon. The lease is the shortest that these times allow. */
const impatience = {
  ackTimeout: "1s",
  lease: "6100ms",
  retry: { access_log: ["200ms", "200ms", "200ms", "1s"] }
}

/** Writes a configuration file and answers the flags of a process that uses it. */
export const configured = Effect.fnUntraced(function* (database: string, settings: object = {}) {
  const file = join(yield* temporaryFolder, "doorhook.json")
  const config = { allowTargets: ["127.0.0.0/8"], directory, ...impatience, ...settings }
  yield* Effect.promise(() => writeFile(file, JSON.stringify(config)))
  return ["--config", file, "--database", database]
})

/** Creates an integration of building 1, as a third party does, and answers its id. */
const integrate = (url: string, receiver: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    const config = await discover(url, "c1", "s1")
    const tokens = await takeTokens(config, "https://client.example/cb", "admin@example.com", "correct horse")
    const path = "/v4/buildings/1/integrations"
    const answer = await callApi(url, tokens.access_token, "POST", path, integrationDocument(receiver))
    assert.strictEqual(answer.status, 201)
  })

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
export const end = ({ child, finished }: Running, signal: NodeJS.Signals) =>
  Effect.suspend(() => {
    child.kill(signal)
    return Effect.promise(() => finished)
  })
