/**
 * What every bundled receiver offers the suite: its probe and its control, over HTTP.
 */
import { Effect, Schema } from "effect"
import { HookFailed } from "../hooks/Hooks.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { ProbeUnusable } from "../probes/Probe.ts"
import type { Probe } from "../probes/Probe.ts"

const Answer = Schema.fromJsonString(Schema.Struct({ effects: Schema.Int, digest: Schema.optionalKey(Schema.String) }))

const get = (url: URL, init: RequestInit = {}) =>
  Effect.tryPromise((signal) => fetch(url, { ...init, signal }).then((answer) => answer.text()))

/** Reads `GET /probe?id=...`. */
export const probeOf = (origin: URL): Probe => ({
  kind: "http",
  name: new URL("/probe", origin).href,
  concurrency: 16,
  read: ({ endpoint, webhookId }) => {
    const url = new URL("/probe", origin)
    url.searchParams.set("id", webhookId)
    if (endpoint !== null) url.searchParams.set("endpoint", endpoint)
    return get(url).pipe(
      Effect.flatMap(Schema.decodeEffect(Answer)),
      Effect.map(({ digest, effects }) => ({ effects, digest: digest ?? null })),
      Effect.mapError((error) => new ProbeUnusable({ message: `GET ${url.href} failed: ${error.message}` }))
    )
  }
})

const post = (origin: URL, path: string): Effect.Effect<void, HookFailed> =>
  get(new URL(path, origin), { method: "POST" }).pipe(
    Effect.mapError((error) => new HookFailed({ message: `POST ${path} failed: ${error.message}` })),
    Effect.asVoid
  )

/** The hooks of the control: one more effect, and a clock that can be moved. */
export const controlsOf = (origin: URL): Pick<Hooks, "advance" | "double"> => ({
  advance: (milliseconds) => post(origin, `/control/advance?ms=${milliseconds}`),
  double: (id) => post(origin, `/control/double?id=${encodeURIComponent(id)}`)
})
