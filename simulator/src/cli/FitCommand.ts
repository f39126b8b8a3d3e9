/**
 * `simulate fit`: a scenario from a user's own access log.
 */
import { checkDifferent, CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { columnNames, dateOrders, readColumns, readLog } from "../fit/AccessLog.ts"
import type { Kind } from "../fit/Fit.ts"
import { fit } from "../fit/Fit.ts"
import { grouped } from "../results/RunText.ts"
import { expectedZone, timeZone } from "../world/zones/TimeZone.ts"
import { readOr, readText, wholeNumber } from "./Flags.ts"

/** What `--columns` takes. */
export const expectedColumns = `COLUMN=HEADING,... with columns ${columnNames.join(", ")}`

const readKind = (text: string): Option.Option<Kind | null> =>
  text === "auto" ? Option.some(null) : text === "homes" || text === "offices" ? Option.some(text) : Option.none()

const delimiterNames: Readonly<Record<string, string>> = { comma: ",", semicolon: ";", tab: "\t", pipe: "|" }

const readDelimiter = (text: string): Option.Option<string | null> => {
  if (text === "auto") return Option.some(null)
  if (text.length === 1) return Option.some(text)
  return Option.fromUndefinedOr(delimiterNames[text])
}

export const fitCommand = Command.make(
  "fit",
  {
    file: Argument.String("file").pipe(Argument.withDescription("An access log as CSV with a header")),
    out: Flag.String("out").pipe(
      Flag.withDescription("A file for the scenario, or - for standard output"),
      Flag.withDefault("-")
    ),
    name: Flag.String("name").pipe(Flag.withDescription("What the scenario is called"), Flag.withDefault("fitted")),
    timeZone: Flag.String("time-zone").pipe(
      Flag.withDescription("IANA name of the building's time zone, for times without an offset and for habits"),
      Flag.withDefault("UTC")
    ),
    kind: Flag.String("kind").pipe(
      Flag.withDescription("What the building is: homes, offices, or auto to judge by the weekends"),
      Flag.withDefault("auto")
    ),
    size: Flag.String("size").pipe(
      Flag.withDescription(
        "How many flats or employees the scenario has, with the log's traffic; by default as many as the log shows"
      ),
      Flag.optional
    ),
    columns: Flag.String("columns").pipe(
      Flag.withDescription(`Headings of your log, like time=Zeit,person=Karte; columns: ${columnNames.join(", ")}`),
      Flag.withDefault("")
    ),
    delimiter: Flag.String("delimiter").pipe(
      Flag.withDescription("Between cells: auto, comma, semicolon, tab, pipe or one character"),
      Flag.withDefault("auto")
    ),
    dates: Flag.String("dates").pipe(
      Flag.withDescription(`Order of dates like 03/02/2026: ${dateOrders.join(" or ")}`),
      Flag.withDefault("month-first")
    )
  },
  Effect.fnUntraced(function* (flags) {
    const named = yield* readOr(
      Option.fromNullOr(readColumns(flags.columns)),
      "columns",
      flags.columns,
      expectedColumns
    )
    const zone = yield* readOr(
      Option.liftPredicate(flags.timeZone, (name) => timeZone(name) !== null),
      "time-zone",
      flags.timeZone,
      expectedZone
    )
    const kind = yield* readOr(readKind(flags.kind), "kind", flags.kind, "homes, offices or auto")
    const delimiter = yield* readOr(
      readDelimiter(flags.delimiter),
      "delimiter",
      flags.delimiter,
      "auto, comma, semicolon, tab, pipe or one character"
    )
    const dates = yield* readOr(
      Option.fromUndefinedOr(dateOrders.find((order) => order === flags.dates)),
      "dates",
      flags.dates,
      dateOrders.join(" or ")
    )
    const size = Option.isNone(flags.size)
      ? null
      : yield* readOr(
          Option.filter(wholeNumber(flags.size.value), (count) => count >= 1 && count <= 20_000),
          "size",
          flags.size.value,
          "a whole number from 1 to 20000"
        )
    if (flags.out !== "-")
      yield* checkDifferent([
        { said: `LOG ${flags.file}`, file: flags.file },
        { said: `--out ${flags.out}`, file: flags.out }
      ])
    const text = yield* readText("LOG", flags.file)
    const unusable = ({ message }: { readonly message: string }) => CommandFailure.usage(`${flags.file}: ${message}`)
    const log = yield* Effect.mapError(Effect.fromResult(readLog(text, { zone, named, delimiter, dates })), unusable)
    const fitted = yield* Effect.mapError(Effect.fromResult(fit(log, { name: flags.name, kind, size })), unusable)
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
