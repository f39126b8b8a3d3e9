/**
 * What every command runs on: files, processes and HTTP of Node.js, and the command's own voice.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Layer } from "effect"
import { CliOutput } from "effect/cli"
import * as logging from "./logging.ts"
import { presenter } from "./Presenter.ts"

export const platform = Layer.mergeAll(
  NodeServices.layer,
  NodeHttpClient.layerUndici,
  CliOutput.layerPresenter(presenter),
  // Standard output is for results.
  logging.layer
)

/** What a command may ask of the platform. */
export type Platform = Layer.Success<typeof platform>
