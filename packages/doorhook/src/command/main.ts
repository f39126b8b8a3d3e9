/**
 * The `doorhook` command.
 */
import { conformanceCommand } from "@doorhook/conformance"
import { simulateCommand } from "@doorhook/simulator"
import { Command } from "effect/cli"
import { clientsCommand } from "./clients.ts"
import { deliveriesCommand } from "./deliveries.ts"
import { integrationsCommand } from "./integrations.ts"
import { noticesCommand } from "./notices.ts"
import { runMain } from "./runMain.ts"
import { serveCommand } from "./serve.ts"
import { workerCommand } from "./worker.ts"

const doorhook = Command.make("doorhook").pipe(
  Command.withDescription("Authorization server and webhooks for access-control backends"),
  Command.withSubcommands([
    serveCommand,
    workerCommand,
    deliveriesCommand,
    integrationsCommand,
    clientsCommand,
    noticesCommand,
    simulateCommand,
    conformanceCommand
  ])
)

runMain(doorhook, { stoppable: ["serve", "worker"].includes(process.argv[2] ?? "") })
