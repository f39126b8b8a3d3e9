/**
 * `doorhook settings`: shows and replaces the settings that the processes on one database agree on.
 */
import { AgreedSettings, columns, CommandFailure, isoOf, SettingStore } from "@doorhook/core"
import { Console, Effect, Layer } from "effect"
import { Argument, Command } from "effect/cli"
import { idOf, proposalText } from "../config/SharedSettings.ts"
import * as Database from "../service/Database.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import * as FileOwner from "../service/FileOwner.ts"
import { databaseFlags, deliveryConfigOf } from "./deliveryFlags.ts"
import { jsonFlag, printJson } from "./operatorApi.ts"

const { agreedName, decodeAgreed, decodeProposed, differencesText, encodeAgreed } = AgreedSettings

const show = Command.make(
  "show",
  { ...databaseFlags, json: jsonFlag("Print the settings as JSON") },
  Effect.fnUntraced(function* ({ json, ...given }) {
    const { database = Database.defaultDatabase } = yield* deliveryConfigOf(given)
    const found = yield* inspect(database)
    if (found === null) return yield* CommandFailure.usage("A database in memory stores no settings.")
    const agreed = found.agreed === null ? null : decodeAgreed(found.agreed)
    const proposed = decodeProposed(found.proposed)
    if (json) {
      return yield* printJson({ agreed, proposed: proposed === null ? null : { ...proposed, at: isoOf(proposed.at) } })
    }
    if (agreed === null) return yield* Console.log("no settings yet: the first process that delivers stores its own")
    for (const line of columns([...Object.entries(agreed), ["others", "the default"]])) yield* Console.log(line)
    const proposal = proposalText(agreed, proposed)
    if (proposal !== null) yield* Console.log(proposal)
  })
).pipe(
  Command.withDescription("Show the settings that processes must agree on, and those of the last process that differed")
)

const accept = Command.make(
  "accept",
  {
    ...databaseFlags,
    id: Argument.String("id").pipe(
      Argument.withDescription("Settings to accept, as the log and doorhook settings show name them")
    )
  },
  Effect.fnUntraced(function* ({ id, ...given }) {
    const config = yield* deliveryConfigOf(given)
    // Inspected first, because opening the store would create a database under a mistyped path.
    const found = yield* inspect(config.database ?? Database.defaultDatabase)
    if (found === null) return yield* CommandFailure.usage("A database in memory stores no settings.")
    if (found.agreed !== null && id === idOf(decodeAgreed(found.agreed))) {
      return yield* Console.log(`${id} is in use already`)
    }
    const proposed = decodeProposed(found.proposed)
    if (proposed === null) {
      return yield* new CommandFailure({
        message: "No process has proposed settings: start the process whose settings are to be used.",
        exitCode: 1
      })
    }
    // Named, because the last proposal may be another: that of a process started by mistake, or of one that stops sending.
    if (id !== proposed.id) {
      return yield* new CommandFailure({
        message: `The last proposed settings are ${proposed.id}, not ${id}: restart the process that proposed ${id}, and try again.`,
        exitCode: 1
      })
    }
    yield* Effect.gen(function* () {
      const store = yield* SettingStore
      const agreed = decodeAgreed((yield* store.find(agreedName)) ?? "")
      const changes = differencesText(agreed, proposed.settings)
      yield* store.put(agreedName, encodeAgreed(AgreedSettings.replacing(agreed, proposed.settings)))
      yield* Console.log(changes === "" ? `${proposed.id} is in use already` : `${proposed.id} accepted: ${changes}`)
    }).pipe(Effect.provide(Database.layer(config).pipe(Layer.provide(FileOwner.layer(config)))), Effect.scoped)
  })
).pipe(
  Command.withDescription(
    "Use the settings of a process that differed; processes with other settings stop sending within seconds"
  ),
  Command.withExamples([
    {
      command: "doorhook settings accept 13ca4c28 --database postgres://doorhook@db.internal/doorhook",
      description: "After a process has logged that its settings differ"
    }
  ])
)

export const settingsCommand = Command.make("settings").pipe(
  Command.withDescription("The settings that all processes which deliver from a database must agree on"),
  Command.withSubcommands([show, accept])
)
