/** `simulate fit`: estimates a scenario from an access log. */
import { checkDifferent, CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Kind } from "../fit/Fit.ts"
import { fit } from "../fit/Fit.ts"
import { grouped } from "../results/RunText.ts"
import { logFlags, readLogFile, readOr, readZone } from "./Flags.ts"

const readKind = (text: string): Option.Option<Kind | null> =>
  text === "auto" ? Option.some(null) : text === "homes" || text === "offices" ? Option.some(text) : Option.none()

export const fitCommand = Command.make(
  "fit",
  {
    file: Argument.String("file").pipe(Argument.withDescription("An access log as CSV with a header")),
    out: Flag.String("out").pipe(
      Flag.withDescription("File to write the scenario to, or - for standard output"),
      Flag.withDefault("-")
    ),
    name: Flag.String("name").pipe(Flag.withDescription("Name of the scenario"), Flag.withDefault("fitted")),
    timeZone: Flag.String("time-zone").pipe(
      Flag.withDescription(
        "IANA name of the building's time zone, used for times without an offset and for daily habits"
      ),
      Flag.withDefault("UTC")
    ),
    kind: Flag.String("kind").pipe(
      Flag.withDescription("Kind of building: homes, offices, or auto to decide by the weekend traffic"),
      Flag.withDefault("auto")
    ),
    ...logFlags
  },
  Effect.fnUntraced(function* (flags) {
    const zone = yield* readZone(flags.timeZone)
    const kind = yield* readOr(readKind(flags.kind), "kind", flags.kind, "homes, offices or auto")
    if (flags.out !== "-")
      yield* checkDifferent([
        { said: `LOG ${flags.file}`, file: flags.file },
        { said: `--out ${flags.out}`, file: flags.out }
      ])
    const log = yield* readLogFile(flags.file, zone, flags)
    const fitted = yield* Effect.mapError(Effect.fromResult(fit(log, { name: flags.name, kind })), ({ message }) =>
      CommandFailure.usage(`${flags.file}: ${message}`)
    )
    const document = `${JSON.stringify(fitted.document, null, 2)}\n`
    const say = flags.out === "-" ? Console.error : Console.log
    for (const note of fitted.notes) yield* say(`Note: ${flags.file}: ${note}`)
    const summary = `${grouped(log.entries.length)} rows, ${fitted.days} days, ${grouped(fitted.people)} members, ${grouped(fitted.calls)} calls: ${fitted.kind}`
    if (flags.out === "-") {
      yield* say(summary)
      return yield* Console.log(document.trimEnd())
    }
    const files = yield* FileSystem.FileSystem
    yield* Effect.mapError(
      files.writeFileString(flags.out, document),
      (error) => new CommandFailure({ message: `Cannot write ${flags.out}: ${fileTrouble(error)}`, exitCode: 1 })
    )
    yield* say(`${summary}\nwritten to ${flags.out}; next: doorhook simulate preview --scenario ${flags.out}`)
  })
).pipe(
  Command.withDescription("Estimate a scenario from an access log (CSV)"),
  Command.withExamples([
    {
      command: "doorhook simulate fit log.csv --time-zone Europe/Berlin --out scenario.json",
      description: "A scenario of your own building"
    }
  ])
)
