/**
 * `conformance sender`: the other side. Hosts a receiver and tells whether a sender keeps to the interface.
 */
import { checkWritable, CommandFailure, Signature, writeNamed } from "@doorhook/core"
import { Console, Effect, Option } from "effect"
import type { Redacted } from "effect"
import { exitCodes } from "../report/Conclusion.ts"
import { runSender } from "../sender/RunSender.ts"
import * as SenderReport from "../sender/SenderReport.ts"

export interface SenderFlags {
  readonly host: string
  readonly port: number
  readonly secret: Option.Option<Redacted.Redacted<string>>
  readonly deadline: number
  readonly quiet: number
  readonly maxTime: number
  readonly report: Option.Option<string>
}

const byVerdict = { pass: exitCodes.passed, fail: exitCodes.failed, inconclusive: exitCodes.inconclusive } as const

const fileOf = (report: Option.Option<string>): Effect.Effect<string | null, CommandFailure> => {
  if (Option.isNone(report)) return Effect.succeed(null)
  const [kind, ...rest] = report.value.split("=")
  const file = rest.join("=")
  return kind === "json" && file !== ""
    ? Effect.succeed(file)
    : Effect.fail(CommandFailure.usage(`--report ${report.value}: of a sender there is json=FILE`))
}

/** Fails with the exit code and one line when the sender does not pass. */
export const runSenderCommand = Effect.fnUntraced(function* (flags: SenderFlags) {
  const { deadline, host, maxTime, port, quiet } = flags
  const file = yield* fileOf(flags.report)
  if (file !== null) yield* checkWritable(`--report json=${file}`, file)
  if (port < 0 || port > 65_535)
    return yield* CommandFailure.usage("--port must be from 0 to 65535; 0 takes a free one")
  const secret = Option.getOrNull(flags.secret)
  if (secret !== null && Signature.keyOf(secret) === null) {
    return yield* CommandFailure.usage("--secret must be a Standard Webhooks secret: whsec_ and base64")
  }
  const report = yield* runSender({
    host,
    port,
    secret,
    deadline,
    quiet,
    maxTime,
    listening: (url, events) =>
      Console.log(
        `Listening on ${url}\nLet the sender deliver ${events} different events there, each of a kind that is retried soon.\n`
      )
  }).pipe(Effect.mapError(({ message }) => CommandFailure.usage(`conformance sender: ${message}`)))
  yield* Console.log(SenderReport.render(report))
  if (file !== null) {
    yield* writeNamed("--report", file, SenderReport.toJson(report))
  }
  const failed = report.requirements.filter(({ verdict }) => verdict === "FAIL").map(({ id }) => id)
  const exitCode = byVerdict[report.verdict]
  if (exitCode === exitCodes.passed) return
  return yield* new CommandFailure({
    exitCode,
    message:
      failed.length > 0
        ? `The sender does not conform: ${failed.join(", ")} failed.`
        : `Inconclusive: ${report.events} events came, and not everything could be decided.`
  })
})
