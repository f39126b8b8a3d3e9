/** Runs `simulate` in this process, as a user would, and captures the output. */
import { simulateCommand } from "@doorhook/simulator"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { ConfigProvider, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"

export const simulate = (...args: ReadonlyArray<string>) => Command.runWith(simulateCommand, { version: "0" })(args)

/** Returns the services that commands need, with these environment variables. */
export const platform = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(
    NodePlatform.layer,
    FetchHttpClient.layer,
    TestConsole.layer,
    ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment))
  )

/** Returns everything printed so far. */
export const printed = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
