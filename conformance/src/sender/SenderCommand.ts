/**
 * `conformance sender`: hosts a receiver until it has seen enough of the sender, judges the sender and reports.
 */
import { checkWritable, columns, CommandFailure, Crypto, Signature, writeNamed } from "@doorhook/core"
import { Console, Effect, Option, Schedule, Schema } from "effect"
import type { Redacted } from "effect"
import { verdicts } from "../judgement/Verdict.ts"
import { suite } from "../record/Evidence.ts"
import { observedBlock } from "../report/Blocks.ts"
import { exitCodeByVerdict, isUndecided } from "../report/Explanation.ts"
import { linesOf } from "../report/Text.ts"
import { answerInWords, host, plan } from "./Host.ts"
import type { CannotListen, Observation, SeenAttempt } from "./Host.ts"
import { senderRequirements } from "./SenderRequirements.ts"
import type { SenderRequirement, SenderTerms } from "./SenderRequirements.ts"

const ReportedSenderRequirement = Schema.Struct({
  id: Schema.String,
  strength: Schema.Literals(["MUST", "SHOULD"]),
  verdict: Schema.Literals(verdicts),
  statement: Schema.String,
  because: Schema.String,
  observed: Schema.String,
  /** The attempts of the deciding event and their answers. */
  history: Schema.Array(Schema.String)
})
type Reported = typeof ReportedSenderRequirement.Type

export const SenderReport = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  suite: Schema.String,
  verdict: Schema.Literals(["pass", "fail", "inconclusive"]),
  deadlineMs: Schema.Finite,
  events: Schema.Int,
  attempts: Schema.Int,
  requirements: Schema.Array(ReportedSenderRequirement)
})
export type SenderReport = typeof SenderReport.Type

const judge = (
  { because, check, id, statement, strength }: SenderRequirement,
  observation: Observation,
  terms: SenderTerms
): Reported => {
  const { event, observed, verdict } = check(observation, terms)
  return {
    id,
    strength,
    statement,
    because,
    observed,
    verdict: verdict === "FAIL" && strength === "SHOULD" ? "WARN" : verdict,
    history: (event?.attempts ?? []).map(
      (attempt, index) => `attempt ${index + 1} ${answerInWords(attempt, terms.deadline)}`
    )
  }
}

const verdictOf = (requirements: ReadonlyArray<Reported>): SenderReport["verdict"] => {
  if (requirements.some(({ verdict }) => verdict === "FAIL")) return "fail"
  return requirements.some(isUndecided) || requirements.every(({ verdict }) => verdict !== "PASS")
    ? "inconclusive"
    : "pass"
}

const attemptsOf = ({ events }: Observation): ReadonlyArray<SeenAttempt> => events.flatMap(({ attempts }) => attempts)

/** Returns the attempts with wrong signatures, each with what is wrong. */
const signatureProblems = Effect.fnUntraced(function* (
  attempts: ReadonlyArray<SeenAttempt>,
  secret: Redacted.Redacted<string>
) {
  const problems = new Map<SeenAttempt, string>()
  for (const attempt of attempts) {
    const problem = yield* Signature.verify(secret, attempt.headers, attempt.body, attempt.wallClock)
    if (problem !== null) problems.set(attempt, problem)
  }
  return problems
})

export interface SenderOptions {
  readonly host: string
  readonly port: number
  readonly secret: Redacted.Redacted<string> | null
  /** How long the sender should wait for an answer, in milliseconds. */
  readonly deadline: number
  /** How long to watch for further requests after the last acknowledgement, in milliseconds. */
  readonly quiet: number
  readonly maxTime: number
  /** Called once the host listens, with the URL to send to. Events may be published from then on. */
  readonly listening: (url: string, events: number) => Effect.Effect<void>
}

/** Number of events that the sender must deliver so that every case of the plan occurs. */
export const eventsNeeded = plan.length

/**
 * Returns the measuring error to allow for, in milliseconds: half of the time between the plan's slow answer and the
 * deadline, and at least 250. On a busy machine, requests are noticed late.
 */
const guardOf = (deadline: number): number => Math.max(250, deadline / 10)

/**
 * Hosts a receiver and judges the sender once it has delivered enough events or the time is up. Fails only if the host
 * can't listen.
 */
export const runSender = (options: SenderOptions): Effect.Effect<SenderReport, CannotListen> =>
  Effect.gen(function* () {
    const { deadline, maxTime, quiet, secret } = options
    const receiver = yield* host(options)
    yield* options.listening(receiver.url, eventsNeeded)
    const isDone = (): boolean =>
      receiver.events() >= eventsNeeded && receiver.allAcknowledged() && receiver.quietFor() >= quiet
    yield* Effect.sync(isDone).pipe(
      Effect.repeat({ until: (done) => done, schedule: Schedule.spaced(50) }),
      Effect.timeoutOption(maxTime)
    )
    const observation = receiver.observation()
    const attempts = attemptsOf(observation)
    const terms: SenderTerms = {
      deadline,
      guard: guardOf(deadline),
      quiet,
      signatures: secret === null ? null : yield* signatureProblems(attempts, secret)
    }
    const requirements = senderRequirements.map((requirement) => judge(requirement, observation, terms))
    return {
      schemaVersion: 1,
      suite,
      verdict: verdictOf(requirements),
      deadlineMs: deadline,
      events: observation.events.length,
      attempts: attempts.length,
      requirements
    } as const
  }).pipe(Effect.scoped, Effect.provide(Crypto.layerWebCrypto))

/** Explains a requirement that did not pass. */
const explained = ({ because, history, id, observed, statement, verdict }: Reported): ReadonlyArray<string> =>
  linesOf({
    ids: [id],
    verdict,
    headline: statement,
    blocks: [
      observedBlock(observed),
      ...(history.length === 0 ? [] : [{ kind: "list", label: "History", lines: history } as const]),
      { kind: "line", label: "Because", text: because, important: false }
    ],
    followers: []
  })

/** Returns the report for a terminal. */
export const render = ({ attempts, events, requirements }: SenderReport): string =>
  [
    ...columns(
      requirements.map(({ id, observed, statement, verdict }) => [
        verdict,
        id,
        `${statement}${verdict === "PASS" ? ` (${observed})` : ""}`
      ])
    ),
    ...requirements.filter(({ verdict }) => verdict !== "PASS").flatMap((one) => ["", ...explained(one)]),
    "",
    `${events} events, ${attempts} attempts.`
  ].join("\n")

export const toJson = (report: SenderReport): string =>
  `${JSON.stringify(Schema.encodeSync(SenderReport)(report), null, 2)}\n`

export interface SenderFlags extends Omit<SenderOptions, "secret" | "listening"> {
  readonly secret: Option.Option<Redacted.Redacted<string>>
  readonly report: Option.Option<string>
}

/** Returns the file of `--report json=FILE`; null without a report. */
const fileOf = (report: string | null): Effect.Effect<string | null, CommandFailure> => {
  const file = report === null ? null : (/^json=(.+)$/s.exec(report)?.[1] ?? "")
  return file === ""
    ? Effect.fail(CommandFailure.usage(`--report ${report}: a report on a sender can only be json=FILE`))
    : Effect.succeed(file)
}

/** Runs `conformance sender`. Fails with an exit code and a one-line message if the sender does not pass. */
export const runSenderCommand = Effect.fnUntraced(function* (flags: SenderFlags) {
  const { port } = flags
  const file = yield* fileOf(Option.getOrNull(flags.report))
  if (file !== null) yield* checkWritable(`--report json=${file}`, file)
  if (port < 0 || port > 65_535)
    return yield* CommandFailure.usage("--port must be from 0 to 65535; 0 takes a free port")
  const secret = Option.getOrNull(flags.secret)
  if (secret !== null && Signature.keyOf(secret) === null) {
    return yield* CommandFailure.usage("--secret must be a Standard Webhooks secret: whsec_ and base64")
  }
  const report = yield* runSender({
    ...flags,
    secret,
    listening: (url, events) =>
      Console.log(
        `Listening on ${url}\nLet the sender deliver ${events} different events there. Use a type of event that is retried soon.\n`
      )
  }).pipe(Effect.mapError(({ message }) => CommandFailure.usage(`conformance sender: ${message}`)))
  yield* Console.log(render(report))
  if (file !== null) yield* writeNamed("--report", file, toJson(report))
  if (report.verdict === "pass") return
  const idsOf = (is: (one: Reported) => boolean): string =>
    report.requirements
      .filter(is)
      .map(({ id }) => id)
      .join(", ")
  const failed = idsOf(({ verdict }) => verdict === "FAIL")
  return yield* new CommandFailure({
    exitCode: exitCodeByVerdict[report.verdict],
    message:
      failed === ""
        ? `Inconclusive: ${report.events} events arrived, and ${idsOf(isUndecided)} could not be decided.`
        : `The sender does not conform: ${failed} failed.`
  })
})
