/**
 * The simulator with the way out to real receivers that it can't bring along.
 */
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { Equipment, simulateCommand as command } from "@doorhook/simulator"
import { Command } from "effect/cli"

export const simulateCommand = Command.provideSync(command, Equipment, {
  transport: UndiciTransport.layer(),
  crypto: NodeCrypto.layer
})
