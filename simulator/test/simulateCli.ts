/** Runs `simulate` in this process, as a user would, and captures the output. */
import { simulateCommand } from "@doorhook/simulator"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { ConfigProvider, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import type { OperatorClient } from "../src/run/OperatorApi.ts"

export const simulate = (...args: ReadonlyArray<string>) => Command.runWith(simulateCommand, { version: "0" })(args)

/** Returns the services that commands need, with these environment variables. */
export const platform = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(NodePlatform.layer, TestConsole.layer, ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment)))

type Request = Parameters<Client>[0]
export type Client = (typeof OperatorClient)["Service"]

/** Makes a client of the operator API that answers with a response. */
export const clientOf =
  (answer: (request: Request) => Effect.Effect<Response>): Client =>
  (request) =>
    Effect.flatMap(answer(request), (response) =>
      Effect.promise(async () => ({
        status: response.status,
        retryAfter: response.headers.get("retry-after"),
        text: await response.text()
      }))
    )

/** Returns everything printed so far. */
export const printed = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
