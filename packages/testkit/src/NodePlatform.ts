/**
 * Node.js services that commands need: files, processes and the terminal.
 */
import * as NodeChildProcessSpawner from "@effect/platform-node-shared/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodePath from "@effect/platform-node-shared/NodePath"
import * as NodeStdio from "@effect/platform-node-shared/NodeStdio"
import * as NodeTerminal from "@effect/platform-node-shared/NodeTerminal"
import { Layer } from "effect"

const files = Layer.merge(NodeFileSystem.layer, NodePath.layer)

export const layer = Layer.mergeAll(
  Layer.provideMerge(NodeChildProcessSpawner.layer, files),
  NodeStdio.layer,
  NodeTerminal.layer
)
