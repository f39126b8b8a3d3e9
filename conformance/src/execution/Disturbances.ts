/**
 * Operations in which the sender goes away, or sends something else than an event.
 */
import { Effect } from "effect"
import type { HttpRequest } from "../evidence/HttpRequest.ts"
import { plainEvents } from "../history/Bindings.ts"
import { accessLog, withUnknown } from "../history/Events.ts"
import type { Carrier, Forgery, Malformation } from "../history/Forgeries.ts"
import type { MintedEvent } from "../history/Minting.ts"
import type { Cut, OperationOf } from "../history/Operations.ts"
import { bodyOf, string } from "../history/RawJson.ts"
import { formOf, retry } from "../history/Variations.ts"
import { open } from "../http/Wire.ts"
import { stampOf } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"
import { forge } from "./Forging.ts"
import { most } from "./Slots.ts"
import { make } from "./WebhookRequest.ts"

/** A receiver that answers within a millisecond is left waiting for some all the same. */
const leastWait = 2

/** Until requests that were begun have reached a receiver, in milliseconds. */
const untilThere = 100

/** Sends an event and goes away; or stops in its body and stays. */
export const cut = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  where: Cut,
  op: number,
  { stalls = false } = {}
) {
  const request = yield* execution.prepare(actor, actor.sent === 0 ? [] : retry)
  const place =
    where.in === "body"
      ? { bytes: Math.floor((Buffer.byteLength(request.body) * where.percent) / 100), stalls }
      : { after: where.share === 0 ? 0 : Math.max(leastWait, where.share * execution.setting.typical()) }
  yield* execution.sendRequest(actor, request, { cut: place }, { op, kind: "cut" })
})

/** The plain event that comes most often. */
const usual = ({ setting }: Execution) => plainEvents(setting.bindings)[0] ?? accessLog

/** Begins many requests, ten at once, and goes away from all of them. */
export const storm = Effect.fnUntraced(function* (
  execution: Execution,
  { count, percent }: OperationOf<"abort_storm">,
  op: number
) {
  const one = Effect.gen(function* () {
    const actor = yield* execution.mint(usual(execution), { referable: false })
    yield* cut(execution, actor, { in: "body", percent }, op)
  })
  yield* Effect.forEach(Array.from({ length: count }), () => one, { concurrency: most, discard: true })
})

/** Begins many requests at once and sends no more, for as long as the history goes on. */
export const stall = Effect.fnUntraced(function* (
  execution: Execution,
  { count, percent }: OperationOf<"stalled">,
  op: number
) {
  const one = Effect.gen(function* () {
    const actor = yield* execution.mint(usual(execution), { referable: false })
    yield* execution.beside(cut(execution, actor, { in: "body", percent }, op, { stalls: true }))
  })
  yield* Effect.forEach(Array.from({ length: count }), () => one, { discard: true })
  // They are to be there first, and what follows on a connection of its own, as another sender's.
  yield* Effect.sleep(untilThere)
  yield* execution.connection.renew
})

/** What makes a body longer than 64 KiB, where some parsers of raw bodies begin to work in another way. */
const filling = string("x".repeat(66_000))

const enlarged = (event: MintedEvent): MintedEvent => {
  const filled = withUnknown(event.filled, ["remarks", filling])
  return { ...event, filled, body: bodyOf(filled) }
}

/** Sends an event under a signature that is not good, as its carrier says. That does not count as sending it. */
export const forged = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { by, kind }: { readonly by: Carrier; readonly kind: Forgery },
  op: number
) {
  const { secret, terms, urls } = execution.setting
  const event = by === "large" ? enlarged(actor.minted) : actor.minted
  const request = yield* forge(event, stampOf(actor), kind, terms.tolerance, secret)
  const about = { op, kind: "forged" } as const
  if (by !== "kept") {
    const form = by === "chunked" ? formOf(["chunked"]) : {}
    return yield* execution.sendRequest(actor, request, form, about)
  }
  return yield* Effect.scoped(
    Effect.gen(function* () {
      yield* execution.connection.renew
      const own = yield* open(urls[0])
      const genuine = yield* execution.mint(usual(execution), { bulk: true, referable: false })
      yield* execution.send(genuine, [], { op }, own)
      return yield* execution.sendRequest(actor, request, {}, about, own)
    })
  )
})

const malformedBody = (body: string, kind: Malformation): string => {
  switch (kind) {
    case "truncated":
      return body.slice(0, body.length >> 1)
    case "unclosed":
      return body.slice(0, -1)
    case "trailing":
      return `${body}{"x"`
    case "single_quotes":
      return body.replaceAll('"', "'")
  }
}

/** Sends what is no event under a new event's id. */
export const malformed = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  kind: Malformation,
  op: number
) {
  const request = yield* make(stampOf(actor), malformedBody(actor.minted.body, kind), [], execution.setting.secret)
  yield* execution.sendRequest(actor, request, {}, { op, kind: "malformed" })
})

/** Sends a request about an event with another method. */
export const otherMethod = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { method, with_body }: Pick<OperationOf<"method_new">, "method" | "with_body">,
  op: number
) {
  const request = yield* make(stampOf(actor), actor.minted.body, [], execution.setting.secret)
  const asked: HttpRequest = { ...request, method, body: with_body ? request.body : "" }
  yield* execution.sendRequest(actor, asked, {}, { op, kind: "method" })
})
