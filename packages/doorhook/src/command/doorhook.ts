/**
 * The `doorhook` command and its subcommands.
 */
import { Command } from "effect/cli"
import { backupCommand } from "./backup.ts"
import { clientsCommand } from "./clients.ts"
import { deliveriesCommand, explainCommand } from "./deliveries.ts"
import { doctorCommand } from "./doctor.ts"
import type { Extensions } from "./extensions.ts"
import { grantsCommand } from "./grants.ts"
import { integrationsCommand } from "./integrations.ts"
import { migrateCommand } from "./migrate.ts"
import { moveCommand } from "./move.ts"
import { notificationsCommand } from "./notifications.ts"
import { portalCommand } from "./portal.ts"
import { makeServe } from "./serve.ts"
import { settingsCommand } from "./settings.ts"
import { typesCommand } from "./types.ts"
import { workerCommand } from "./worker.ts"

export const makeDoorhook = ({ conformance, mcp, simulate }: Extensions) =>
  Command.make("doorhook").pipe(
    Command.withDescription("Authorization server and webhooks for access-control backends"),
    Command.withSubcommands([
      makeServe(mcp),
      workerCommand,
      deliveriesCommand,
      explainCommand,
      integrationsCommand,
      clientsCommand,
      grantsCommand,
      notificationsCommand,
      portalCommand,
      settingsCommand,
      typesCommand,
      doctorCommand,
      migrateCommand,
      moveCommand,
      backupCommand,
      simulate,
      conformance
    ])
  )
