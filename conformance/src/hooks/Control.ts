/**
 * A receiver's control URL: `POST {control}/double?id=WEBHOOK_ID` makes it record one more effect. A receiver that can do
 * more says so: `GET {control}` answers `{"ops": ["restart", "kill", "pause", "resume", "advance"]}`, and each is a POST.
 */
import { Effect, Schema } from "effect"
import { request } from "undici"
import type { Hooks } from "./Hooks.ts"
import { HookFailed } from "./Hooks.ts"
import { hookPatience } from "./ShellCommand.ts"

const Offer = Schema.fromJsonString(Schema.Struct({ ops: Schema.Array(Schema.String) }))

const under = (control: URL, path: string, query: Readonly<Record<string, string>> = {}): URL => {
  const url = new URL(control)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

const post = (url: URL): Effect.Effect<void, HookFailed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const { body, statusCode } = await request(url, { method: "POST", reset: true, signal })
      await body.dump()
      if (statusCode < 200 || statusCode > 299) throw new Error(`status ${statusCode}`)
    },
    catch: (error) =>
      new HookFailed({
        message: `POST ${url.origin}${url.pathname} failed (${error instanceof Error ? error.message : String(error)}). Correct --control-url, or leave it out.`
      })
  }).pipe(
    Effect.timeoutOrElse({
      duration: hookPatience,
      orElse: () => Effect.fail(new HookFailed({ message: `POST ${url.origin}${url.pathname} did not answer.` }))
    })
  )

/** What the receiver offers besides `double`; nothing where it does not say. */
const offered = (control: URL): Effect.Effect<ReadonlyArray<string>> =>
  Effect.tryPromise(async (signal) => {
    const { body, statusCode } = await request(control, { reset: true, signal })
    const text = await body.text()
    return statusCode === 200 ? text : `{"ops":[]}`
  }).pipe(
    Effect.timeout(2_000),
    Effect.flatMap(Schema.decodeUnknownEffect(Offer)),
    Effect.map(({ ops }) => ops),
    // The document asks for `double` alone; who offers no more need not answer this question.
    Effect.orElseSucceed(() => [])
  )

/** The hooks with what the control URL adds; commands come first. */
export const withControl = Effect.fnUntraced(function* (hooks: Hooks, control: URL) {
  const ops = yield* offered(control)
  const named: Record<string, string> = {}
  const of = <A>(name: string, given: A | null, made: A): A | null => {
    if (given !== null || !ops.includes(name)) return given
    named[name] = `--control-url (${name})`
    return made
  }
  const controlled: Hooks = {
    ...hooks,
    restart: of("restart", hooks.restart, post(under(control, "restart"))),
    // A receiver that kills itself can't answer any more.
    kill: of("kill", hooks.kill, Effect.ignore(post(under(control, "kill")))),
    pause: of("pause", hooks.pause, post(under(control, "pause"))),
    resume: of("resume", hooks.resume, post(under(control, "resume"))),
    advance: of("advance", hooks.advance, (milliseconds: number) =>
      post(under(control, "advance", { ms: String(milliseconds) }))
    ),
    double: (webhookId) => post(under(control, "double", { id: webhookId })),
    names: { ...hooks.names, double: `${control.origin}${control.pathname}/double`, ...named }
  }
  return controlled
})
