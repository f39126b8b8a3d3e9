/**
 * This process's part in the agreement of the processes on one database (core's `delivery/Agreement`): whose directory
 * decides about the deliveries, and which settings this process has.
 */
import { AgreedSettings, Directory, OwnSettings, SettingStore } from "@doorhook/core"
import { DatabaseUnusable, PostgresUrl } from "@doorhook/sql"
import { Clock, Effect, Layer, Result } from "effect"
import { hostname } from "node:os"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { agreedSettingsOf, idOf } from "../config/SharedSettings.ts"
import { defaultDatabase, isPostgres } from "./Database.ts"

const { agreedName, decodeAgreed, differencesOf, differencesText, encodeAgreed, encodeProposed, proposedName } =
  AgreedSettings

/** What to do about a database that a process with another kind of directory delivers from. */
const remedies = {
  functions: `Its deliveries belong to an application that embeds doorhook: only the application's own processes have the directory that decides who may receive an event. Start workers that call createDoorhook, as docs/embed.md shows under "Workers of your own".`,
  file: "Its deliveries belong to a service with a directory file (doorhook serve --directory)."
}

/** Explains why a process with a directory of this kind must not use a database; null if it may. */
export const ownerProblem = (
  stored: AgreedSettings.AgreedSettings,
  kind: Directory["Service"]["kind"]
): string | null => {
  const { directory: owner } = stored
  if (kind === "all" || (owner !== "functions" && owner !== "file") || owner === (kind ?? "functions")) return null
  if (kind === "none") return owner === "functions" ? remedies.functions : null
  return remedies[owner]
}

const nameOf = ({ database = defaultDatabase }: EngineConfig): string =>
  isPostgres(database)
    ? Result.match(PostgresUrl.parse(database), { onFailure: () => "the database", onSuccess: PostgresUrl.nameOf })
    : database

/**
 * Stores this process's settings if the database has none. Fails if the deliveries belong to another directory; then
 * `doorhook settings accept` can hand them over.
 */
export const layer = (config: EngineConfig) =>
  Layer.effect(
    OwnSettings,
    Effect.gen(function* () {
      const { kind } = yield* Directory
      const store = yield* SettingStore
      const settings = yield* Effect.fromResult(agreedSettingsOf(config, kind))
      const id = idOf(settings)
      const propose = Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        const process = `process ${globalThis.process.pid} on ${hostname()}`
        yield* store.put(proposedName, encodeProposed({ id, at, process, settings }))
      })
      const text = yield* store.find(agreedName)
      const stored = text === null ? null : decodeAgreed(text)
      const problem = stored === null ? null : ownerProblem(stored, kind)
      if (problem !== null) {
        if (kind !== "none") yield* propose
        const handOver =
          kind === "none" ? "" : ` To hand the database over, stop the others and run: doorhook settings accept ${id}`
        const explanation = `${problem}${handOver}`
        return yield* new DatabaseUnusable({ database: nameOf(config), why: "other_directory", explanation })
      }
      if (settings["directory"] !== undefined) {
        if (stored === null) yield* store.getOrCreate(agreedName, encodeAgreed(settings))
        else if (stored["directory"] === undefined)
          yield* store.put(agreedName, encodeAgreed({ ...stored, directory: settings["directory"] }))
      }
      if (config.deliver === false && !isPostgres(config.database ?? defaultDatabase)) {
        yield* Effect.logWarning(
          "deliver: is false, and no other process can deliver from this database. Events wait until a process that delivers opens it."
        )
      }
      // Only one process uses a database of another kind, so its settings are those of the database.
      if (stored !== null && !isPostgres(config.database ?? defaultDatabase) && kind !== "none") {
        if (differencesOf(stored, settings).length > 0) {
          yield* store.put(agreedName, encodeAgreed(settings))
          yield* Effect.logInfo(`Settings have changed since the last start: ${differencesText(stored, settings)}.`)
        }
      }
      return { settings, id, propose }
    })
  )
