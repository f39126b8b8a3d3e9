/**
 * The simulator with the ways out that it can't bring along: real receivers, and SQLite files.
 */
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { Equipment, simulateCommand as command } from "@doorhook/simulator"
import { SqliteStore } from "@doorhook/sql"
import { Command } from "effect/cli"

export const simulateCommand = Command.provideSync(command, Equipment, {
  transport: UndiciTransport.layer(),
  crypto: NodeCrypto.layer,
  sqlite: (filename) => SqliteStore.layer({ filename })
})
