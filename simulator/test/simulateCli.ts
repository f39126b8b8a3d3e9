/**
 * `simulate` in this process, as a user runs it, with what it prints.
 */
import { simulateCommand } from "@doorhook/simulator"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { ConfigProvider, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"

export const simulate = (...args: ReadonlyArray<string>) => Command.runWith(simulateCommand, { version: "0" })(args)

/** The platform of a process whose environment has these variables. */
export const platform = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(
    NodePlatform.layer,
    FetchHttpClient.layer,
    TestConsole.layer,
    ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment))
  )

/** What was printed so far. */
export const printed = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
