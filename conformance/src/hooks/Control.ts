/**
 * A receiver's control URL: `POST {control}/double?id=WEBHOOK_ID` makes it record one more effect. A receiver that can do
 * more says so: `GET {control}` answers `{"ops": ["restart", "kill", "pause", "resume", "advance"]}`, and each is a POST.
 */
import { Effect, Schema } from "effect"
import { detailOf } from "../evidence/Exchange.ts"
import { ask } from "../http/Wire.ts"
import { hookPatience } from "./Commands.ts"
import type { Hooks } from "./Hooks.ts"
import { HookFailed } from "./Hooks.ts"

const Offer = Schema.fromJsonString(Schema.Struct({ ops: Schema.Array(Schema.String) }))

const under = (control: URL, path: string, query: Readonly<Record<string, string>> = {}): URL => {
  const url = new URL(control)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

const post = (url: URL): Effect.Effect<void, HookFailed> =>
  ask(url, "POST", hookPatience).pipe(
    Effect.flatMap(({ status }) =>
      status < 200 || status > 299 ? Effect.fail(new Error(`status ${status}`)) : Effect.void
    ),
    Effect.mapError((error) => {
      const asked = `POST ${url.origin}${url.pathname}`
      return new HookFailed({
        message: `${asked} failed (${detailOf(error)}). Correct --control-url, or leave it out.`
      })
    })
  )

/** How long the question what else is offered may take, in milliseconds. */
const offerPatience = 2_000

/** What the receiver offers besides `double`; nothing where it does not say. */
const offered = (control: URL): Effect.Effect<ReadonlyArray<string>> =>
  ask(control, "GET", offerPatience).pipe(
    Effect.flatMap(({ body, status }) => Schema.decodeEffect(Offer)(status === 200 ? body : `{"ops":[]}`)),
    Effect.map(({ ops }) => ops),
    // The document asks for `double` alone: a receiver that offers no more need not answer this question.
    Effect.orElseSucceed(() => [])
  )

/** The hooks with what the control URL adds; commands come first. */
export const withControl = Effect.fnUntraced(function* (hooks: Hooks, control: URL): Effect.fn.Return<Hooks> {
  const ops = yield* offered(control)
  const names: Record<string, string> = { ...hooks.names, double: `${control.origin}${control.pathname}/double` }
  const of = <A>(name: "restart" | "kill" | "pause" | "resume" | "advance", given: A | null, made: A): A | null => {
    if (given !== null || !ops.includes(name)) return given
    names[name] = `--control-url (${name})`
    return made
  }
  return {
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
    names
  }
})
