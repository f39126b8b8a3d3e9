/**
 * The simulator's command with the Node.js transport, which the simulator itself does not include.
 */
import { NodeCrypto, UndiciTransport } from "@doorhook/node"
import { Equipment, simulateCommand as command } from "@doorhook/simulator"
import { Command } from "effect/cli"

export const simulateCommand = Command.provideSync(command, Equipment, {
  transport: UndiciTransport.layer(),
  crypto: NodeCrypto.layer
})
