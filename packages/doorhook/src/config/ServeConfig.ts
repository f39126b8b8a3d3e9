/**
 * What can be set about `doorhook serve`: by a JSON file (`--config`) and by flags, which win.
 */
import { resourceTypeNames } from "@doorhook/core"
import { Effect, FileSystem, Result, Schema, SchemaIssue } from "effect"
import type { EngineConfig } from "./EngineConfig.ts"
import { InvalidConfig } from "./EngineConfig.ts"

export interface ServeConfig extends EngineConfig {
  /** Default 4000; 0 takes any free port. */
  readonly port?: number | undefined
  /** Default 127.0.0.1. */
  readonly host?: string | undefined
  /** The directory file. */
  readonly directory?: string | undefined
}

const Texts = Schema.Array(Schema.String)

/** The members of a configuration file: as in `createDoorhook`, and those that only a service of its own has. */
const ConfigFile = Schema.Struct({
  port: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))),
  host: Schema.optionalKey(Schema.String),
  database: Schema.optionalKey(Schema.String),
  directory: Schema.optionalKey(Schema.String),
  allowTargets: Schema.optionalKey(Texts),
  retry: Schema.optionalKey(Schema.Record(Schema.String, Texts)),
  ackTimeout: Schema.optionalKey(Schema.String),
  publicUrl: Schema.optionalKey(Schema.String),
  operatorKey: Schema.optionalKey(Schema.String),
  encryptionKey: Schema.optionalKey(Schema.String)
})

const names = Object.keys(ConfigFile.fields)

/** Names as flags write them (`allow-target`) and as tables do (`allow_targets`) mean the same. */
const canonical = (name: string): string => {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "")
  return names.find((known) => plain(known) === plain(name) || plain(known) === `${plain(name)}s`) ?? name
}

const explain = SchemaIssue.makeFormatterStandardSchemaV1()

/** Reads the text of a configuration file. */
export const fromText = (text: string): Result.Result<ServeConfig, InvalidConfig> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return Result.fail(new InvalidConfig({ message: "it is not JSON" }))
  }
  const named =
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, member]) => [canonical(name), member]))
      : value
  const unknown = Object.keys(Object(named)).filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    return Result.fail(
      new InvalidConfig({ message: `${unknown.join(", ")}: no such setting; there are ${names.join(", ")}` })
    )
  }
  return Result.mapError(
    Schema.decodeUnknownResult(ConfigFile)(named, { errors: "all" }),
    (error) =>
      new InvalidConfig({
        message: explain(error.issue)
          .issues.map(({ message, path }) => `${(path ?? []).map(String).join(".")}: ${message}`)
          .join("; ")
      })
  )
}

/** Reads a configuration file. */
export const fromFile = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const text = yield* files
    .readFileString(file)
    .pipe(Effect.mapError(() => new InvalidConfig({ message: `config: ${file} can't be read` })))
  return yield* Effect.fromResult(fromText(text)).pipe(
    Effect.mapError(({ message }) => new InvalidConfig({ message: `config ${file}: ${message}` }))
  )
})

/** Reads the `RESOURCE=d1,d2,...` of a retry flag; nothing after the sign is no retry. */
export const parseRetryFlags = (
  flags: ReadonlyArray<string>
): Result.Result<Readonly<Record<string, ReadonlyArray<string>>>, InvalidConfig> => {
  const wrong = flags.find((flag) => !/^[^=]+=/.test(flag))
  if (wrong !== undefined) {
    const example = `${resourceTypeNames[1]}=5s,30s`
    return Result.fail(
      new InvalidConfig({
        message: `--retry: ${JSON.stringify(wrong)} is not of the form RESOURCE=d1,d2,... like ${example}`
      })
    )
  }
  return Result.succeed(
    Object.fromEntries(
      flags.map((flag) => {
        const at = flag.indexOf("=")
        const delays = flag.slice(at + 1)
        return [flag.slice(0, at), delays === "" ? [] : delays.split(",")]
      })
    )
  )
}
