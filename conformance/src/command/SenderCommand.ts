/**
 * `conformance sender`: the other side. Hosts a receiver and judges the sender that uses it.
 */
import { checkWritable, CommandFailure, Signature, writeNamed } from "@doorhook/core"
import { Console, Effect, Option } from "effect"
import type { Redacted } from "effect"
import { byVerdict } from "../report/Conclusion.ts"
import { render, runSender, toJson } from "../sender/RunSender.ts"

export interface SenderFlags {
  readonly host: string
  readonly port: number
  readonly secret: Option.Option<Redacted.Redacted<string>>
  readonly deadline: number
  readonly quiet: number
  readonly maxTime: number
  readonly report: Option.Option<string>
}

/** The file of `--report json=FILE`; null without. */
const fileOf = (report: string | null): Effect.Effect<string | null, CommandFailure> => {
  const file = report === null ? null : (/^json=(.+)$/s.exec(report)?.[1] ?? "")
  return file === ""
    ? Effect.fail(CommandFailure.usage(`--report ${report}: a sender has only the report json=FILE`))
    : Effect.succeed(file)
}

/** Fails with the exit code and one line when the sender does not pass. */
export const runSenderCommand = Effect.fnUntraced(function* (flags: SenderFlags) {
  const { port } = flags
  const file = yield* fileOf(Option.getOrNull(flags.report))
  if (file !== null) yield* checkWritable(`--report json=${file}`, file)
  if (port < 0 || port > 65_535)
    return yield* CommandFailure.usage("--port must be from 0 to 65535; 0 takes a free one")
  const secret = Option.getOrNull(flags.secret)
  if (secret !== null && Signature.keyOf(secret) === null) {
    return yield* CommandFailure.usage("--secret must be a Standard Webhooks secret: whsec_ and base64")
  }
  const report = yield* runSender({
    ...flags,
    secret,
    listening: (url, events) =>
      Console.log(
        `Listening on ${url}\nLet the sender deliver ${events} different events there, each of a kind that is retried soon.\n`
      )
  }).pipe(Effect.mapError(({ message }) => CommandFailure.usage(`conformance sender: ${message}`)))
  yield* Console.log(render(report))
  if (file !== null) yield* writeNamed("--report", file, toJson(report))
  if (report.verdict === "pass") return
  const failed = report.requirements.filter(({ verdict }) => verdict === "FAIL").map(({ id }) => id)
  return yield* new CommandFailure({
    exitCode: byVerdict[report.verdict],
    message:
      failed.length > 0
        ? `The sender does not conform: ${failed.join(", ")} failed.`
        : `Inconclusive: ${report.events} events came, and not everything could be decided.`
  })
})
