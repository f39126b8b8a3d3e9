/**
 * `conformance mutants`, `conformance sender` and `conformance badge`: their flags. What they do is loaded when they are
 * called.
 */
import { DurationText } from "@doorhook/core"
import { Config, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { secretVariable } from "../record/Options.ts"

const duration = (name: string, description: string, milliseconds: number) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${description}; ${DurationText.format(milliseconds)} by default`),
    Flag.withMetavar("DURATION"),
    Flag.withSchema(DurationText.DurationText),
    Flag.withDefault(milliseconds)
  )

const only = Flag.String("only").pipe(
  Flag.withDescription("These receivers: names or requirements, or patterns like R-DUP-*, separated by commas"),
  Flag.withMetavar("NAMES"),
  Flag.atLeast(0)
)
const narrow = Flag.Boolean("narrow").pipe(
  Flag.withDescription("Tests each receiver for its own requirement only: fast"),
  Flag.withDefault(false)
)
const jobs = Flag.Int("jobs").pipe(
  Flag.withDescription("How many are tested at once; 1 by default"),
  Flag.withDefault(1)
)
const seed = Flag.Int("seed").pipe(Flag.withDescription("What random histories are drawn from"), Flag.withDefault(1))
const listing = Flag.Boolean("list").pipe(Flag.withDescription("Lists them and tests none"), Flag.withDefault(false))

export const mutants = Command.make(
  "mutants",
  {
    only,
    narrow,
    jobs,
    seed,
    list: listing,
    maxTime: duration("max-time", "How long each may take", 120_000)
  },
  Effect.fnUntraced(function* ({ list, ...flags }) {
    const { listMutants, runMutants } = yield* Effect.promise(() => import("./MutantsCommand.ts"))
    yield* list ? listMutants : runMutants(flags)
  })
).pipe(
  Command.withDescription(
    "Tests the suite itself: runs it against receivers whose faults are known. Exits with 1 when one gets by, or is found out by another requirement than its own, or a requirement finds out none."
  )
)

const host = Flag.String("host").pipe(
  Flag.withDescription("The address to listen on; 127.0.0.1 by default"),
  Flag.withDefault("127.0.0.1")
)
const port = Flag.Int("port").pipe(
  Flag.withDescription("The port to listen on; 0, the default, takes a free one"),
  Flag.withDefault(0)
)
const secret = Flag.Redacted("secret").pipe(
  Flag.withDescription(`The whsec_ secret that the sender signs with. Better in ${secretVariable}`),
  Flag.withFallbackConfig(Config.Redacted(secretVariable)),
  Flag.optional
)
const report = Flag.String("report").pipe(
  Flag.withDescription("Writes a report to a file: json=FILE"),
  Flag.withMetavar("KIND=FILE"),
  Flag.optional
)

export const sender = Command.make(
  "sender",
  {
    host,
    port,
    secret,
    report,
    deadline: duration("deadline", "How long the sender must wait for an answer", 5_000),
    quiet: duration("quiet", "How long nothing must come after the last acknowledgement", 15_000),
    maxTime: duration("max-time", "When to judge what was seen until then", 600_000)
  },
  Effect.fnUntraced(function* (flags) {
    const { runSenderCommand } = yield* Effect.promise(() => import("./SenderCommand.ts"))
    yield* runSenderCommand(flags)
  })
).pipe(
  Command.withDescription(
    "Tests a sender: hosts a receiver that refuses, redirects, hangs and hangs up by plan, and reports whether identity, signature, deadline and retries are as they must be. Exits with 0 when they are, 1 when not, 2 when that could not be decided."
  )
)

export const badge = Command.make(
  "badge",
  { file: Argument.String("report").pipe(Argument.withDescription("A report that --report json=FILE wrote")) },
  Effect.fnUntraced(function* ({ file }) {
    const { printBadge } = yield* Effect.promise(() => import("./BadgeCommand.ts"))
    yield* printBadge(file)
  })
).pipe(Command.withDescription("Prints a badge for shields.io from a report"))
