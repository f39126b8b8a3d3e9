/** Runs `simulate` in this process like a user, and captures its output. */
import { simulateCommand } from "@doorhook/simulator"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { ConfigProvider, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"

export const simulate = (...args: ReadonlyArray<string>) => Command.runWith(simulateCommand, { version: "0" })(args)

/** Returns the platform of a process with these environment variables. */
export const platform = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(
    NodePlatform.layer,
    FetchHttpClient.layer,
    TestConsole.layer,
    ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment))
  )

/** Returns everything printed so far. */
export const printed = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
