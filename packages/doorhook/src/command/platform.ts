/**
 * Services that every command needs: Node.js files, processes and HTTP, and the output of help and errors.
 *
 * The published command bundles `@effect/platform-node-shared`, so users don't install it.
 */
import * as NodeChildProcessSpawner from "@effect/platform-node-shared/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodePath from "@effect/platform-node-shared/NodePath"
import * as NodeStdio from "@effect/platform-node-shared/NodeStdio"
import * as NodeTerminal from "@effect/platform-node-shared/NodeTerminal"
import { Layer, Logger } from "effect"
import { CliOutput } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { consoleLogger } from "../telemetry/LogLine.ts"
import { presenter } from "./Presenter.ts"

const files = Layer.merge(NodeFileSystem.layer, NodePath.layer)

export const platform = Layer.mergeAll(
  Layer.provideMerge(NodeChildProcessSpawner.layer, files),
  NodeStdio.layer,
  NodeTerminal.layer,
  FetchHttpClient.layer,
  CliOutput.layerPresenter(presenter),
  // Logs go to standard error. Standard output is for results.
  Logger.layer([consoleLogger])
)

/** The services that the platform provides. */
export type Platform = Layer.Success<typeof platform>
