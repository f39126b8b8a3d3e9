/**
 * What every command runs on: files, processes and HTTP of Node.js, and the command's own voice.
 *
 * `@effect/platform-node-shared` is joined into the published command, so that nobody has to install it.
 */
import * as NodeChildProcessSpawner from "@effect/platform-node-shared/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodePath from "@effect/platform-node-shared/NodePath"
import * as NodeStdio from "@effect/platform-node-shared/NodeStdio"
import * as NodeTerminal from "@effect/platform-node-shared/NodeTerminal"
import { Layer } from "effect"
import { CliOutput } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import * as logging from "./logger.ts"
import { presenter } from "./Presenter.ts"

const files = Layer.merge(NodeFileSystem.layer, NodePath.layer)

export const platform = Layer.mergeAll(
  Layer.provideMerge(NodeChildProcessSpawner.layer, files),
  NodeStdio.layer,
  NodeTerminal.layer,
  FetchHttpClient.layer,
  CliOutput.layerPresenter(presenter),
  // Standard output is for results.
  logging.layer
)

/** What a command may ask of the platform. */
export type Platform = Layer.Success<typeof platform>
