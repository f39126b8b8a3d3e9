/**
 * `conformance send`: sends one event as doorhook sends it, shows the request and the answer, and sends the event again
 * when a key is pressed. With `--listen`, shows requests that arrive instead.
 */
import { CommandFailure, Signature, UrlPolicy } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Clock, Console, Effect } from "effect"
import type { Redacted, Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { text } from "node:stream/consumers"
import { begin, createEvent } from "../execution/Execution.ts"
import { send } from "../execution/Send.ts"
import type { Attempt } from "../evidence/Trace.ts"
import { accessLog, call } from "../history/Events.ts"
import { retry } from "../history/Variations.ts"
import { classify, defaultCriteria, exchangeInWords, inWords } from "../judgement/Criteria.ts"
import { defaults, noMeans } from "../record/Options.ts"
import { exitCodes } from "../report/Explanation.ts"
import { services, settingOf } from "../run/Setup.ts"
import * as Target from "../run/Target.ts"
import { unusable } from "./Prepare.ts"

export interface SendFlags {
  readonly type: "call" | "access_log"
  readonly url: string | null
  readonly owned: boolean
  readonly signed: Redacted.Redacted<string> | null
  /** The port to listen at, instead of sending. */
  readonly listen: number | null
}

/** Writes JSON on several lines; another text as it is. */
const pretty = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

const indented = (body: string): string => body.replaceAll(/^/gm, "  ")

const requestLines = ({ endpoint, request }: Attempt): ReadonlyArray<string> => [
  `${request.method} ${UrlPolicy.shownUrl(new URL(endpoint))}`,
  ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
  indented(pretty(request.body))
]

const answerLines = ({ exchange }: Attempt, isSigned: boolean): ReadonlyArray<string> => {
  const answer = classify(exchange, defaultCriteria)
  const isAcknowledged = answer === "acknowledged"
  const isRefused = exchange._tag === "Answered" && (exchange.status === 401 || exchange.status === 403)
  return [
    `-> ${exchangeInWords(exchange)}`,
    ...(exchange._tag === "Answered" && exchange.excerpt !== "" ? [indented(pretty(exchange.excerpt))] : []),
    isAcknowledged
      ? "acknowledged"
      : `not acknowledged: doorhook would send it again; it expects ${inWords(defaultCriteria)}`,
    ...(isRefused && !isSigned ? ["the receiver may check signatures: give its secret with --signed whsec_..."] : [])
  ]
}

/** What to do next. */
type Next = "again" | "new" | "quit"

/** Waits for a key. Returns `quit` at once without a terminal. */
const nextKey: Effect.Effect<Next> = Effect.suspend(() => {
  const { stdin } = process
  if (!stdin.isTTY) return Effect.succeed<Next>("quit")
  return Effect.callback<Next>((resume) => {
    const read = (key: Buffer): void => {
      const pressed = key.toString()
      if (pressed === "n") resume(Effect.succeed("new"))
      // Ctrl-C and Ctrl-D arrive as characters.
      else if (/[q\u0003\u0004]/.test(pressed)) resume(Effect.succeed("quit"))
      else resume(Effect.succeed("again"))
    }
    stdin.setRawMode(true).resume().once("data", read)
    return Effect.sync(() => stdin.off("data", read))
  }).pipe(Effect.ensuring(Effect.sync(() => stdin.setRawMode(false).pause())))
})

const secretOf = (signed: SendFlags["signed"]): Effect.Effect<SendFlags["signed"], CommandFailure> =>
  signed === null || Signature.keyOf(signed) !== null
    ? Effect.succeed(signed)
    : Effect.fail(
        CommandFailure.usage("--signed must be a Standard Webhooks secret, whsec_ and base64, or a whsk_ private key")
      )

const sendEvents = Effect.fnUntraced(function* (url: URL, { signed, type }: SendFlags) {
  const secret = yield* secretOf(signed)
  const means = { ...noMeans, urls: [url], secret } as const
  const options = { ...defaults, url: [url.href], seed: 0, signed: secret !== null }
  const setting = yield* settingOf(options, means, defaultCriteria, { pace: 1, typical: () => 0 })
  const execution = yield* begin(setting, { title: "one event", allElseDone: Effect.void, fillerTime: 0 })
  const template = { access_log: accessLog, call }[type]
  let actor = yield* createEvent(execution, template)
  for (let next: Next = "again"; next !== "quit"; next = yield* nextKey) {
    if (next === "new") actor = yield* createEvent(execution, template)
    yield* Effect.mapError(send(execution, actor, actor.sent === 0 ? [] : retry, { op: 0, once: true }), unusable)
    const attempt = execution.attempts.at(-1)
    if (attempt === undefined) continue
    yield* Console.log([...requestLines(attempt), "", ...answerLines(attempt, secret !== null), ""].join("\n"))
    if (process.stdin.isTTY) yield* Console.log("n: a new event, q: quit, any other key: the same event again\n")
  }
  if (!actor.acknowledged) {
    return yield* new CommandFailure({ message: "The last event was not acknowledged.", exitCode: exitCodes.failed })
  }
})

/** A request that arrived. */
interface Arrived {
  readonly line: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const arrivedLines = Effect.fnUntraced(function* ({ body, headers, line }: Arrived, signed: SendFlags["signed"]) {
  const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const flaw = signed === null ? null : yield* Signature.verify(signed, given, body, yield* Clock.currentTimeMillis)
  const signature = flaw === null ? "the signature is right" : `the signature is wrong: ${flaw.replaceAll("_", " ")}`
  return [
    line,
    ...Object.entries(given).map(([name, value]) => `${name}: ${value}`),
    indented(pretty(body)),
    ...(signed === null ? [] : [signature]),
    ""
  ].join("\n")
})

/** Answers every request with 200 and shows it, until the command is interrupted. */
const showArrivals = Effect.fnUntraced(function* (
  port: number,
  signed: SendFlags["signed"]
): Effect.fn.Return<never, CommandFailure, Crypto | Scope.Scope> {
  const secret = yield* secretOf(signed)
  const context = yield* Effect.context<Crypto>()
  const show = (arrived: Arrived): Promise<void> =>
    Effect.runPromiseWith(context)(Effect.flatMap(arrivedLines(arrived, secret), (lines) => Console.log(lines)))
  const server = createServer((request, response) => {
    void text(request).then(
      (body) => {
        response.end("ok")
        return show({ line: `${request.method ?? ""} ${request.url ?? ""}`, headers: request.headers, body })
      },
      () => response.destroy()
    )
  })
  const listening = Effect.callback<number, CommandFailure>((resume) => {
    server.once("error", ({ message }) => resume(Effect.fail(CommandFailure.usage(`--listen ${port}: ${message}`))))
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : port))
    })
  })
  const own = yield* Effect.acquireRelease(listening, () =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
  yield* Console.log(`Requests to http://127.0.0.1:${own}/ are answered with 200 and shown here. Ctrl-C ends this.\n`)
  return yield* Effect.never
})

/** Sends events, or shows what arrives. Fails with exit code 1 if the last event was not acknowledged. */
export const runSend = Effect.fnUntraced(
  function* (flags: SendFlags) {
    const { listen, owned, signed, url: given } = flags
    if (listen !== null) {
      if (given !== null)
        return yield* CommandFailure.usage("--url and --listen can't be used together: --listen sends nothing")
      if (listen < 0 || listen > 65_535)
        return yield* CommandFailure.usage(`--listen ${listen}: expected a port from 0 to 65535`)
      return yield* showArrivals(listen, signed)
    }
    if (given === null) return yield* CommandFailure.usage("--url is missing: the URL that the event is posted to")
    const url = yield* Effect.fromResult(Target.parse(given))
    yield* Target.authorize(url, owned).pipe(
      Effect.catchTag("TargetUnusable", (error) => Effect.fail(unusable(error))),
      Effect.provide(Target.systemNames)
    )
    yield* sendEvents(url, flags)
  },
  Effect.scoped,
  Effect.provide(services)
)
