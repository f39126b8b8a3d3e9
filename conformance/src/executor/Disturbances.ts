/**
 * Operations in which the sender goes away, or asks for something else than an event's delivery.
 */
import { Effect } from "effect"
import { accessLog } from "../history/Events.ts"
import type { Cut, EventTemplate } from "../history/History.ts"
import { retry } from "../history/History.ts"
import type { Forgery, Malformation } from "../history/Invalid.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import { forge } from "./Forging.ts"
import type { Actor, Stage } from "./Stage.ts"
import { make } from "./WebhookRequest.ts"
import { plainForm } from "./Wire.ts"

/** A receiver that answers within a millisecond is left waiting for some all the same. */
const leastWait = 2

/** Until requests that were begun have reached a receiver, in milliseconds. */
const untilThere = 100

/** Sends an event and goes away; or stops in its body and stays. */
export const cut = Effect.fnUntraced(function* (
  stage: Stage,
  actor: Actor,
  where: Cut,
  op: number,
  { stalls = false } = {}
) {
  const request = yield* stage.prepare(actor, actor.sent === 0 ? [] : retry)
  const form = {
    ...plainForm,
    cut:
      where.in === "body"
        ? { bytes: Math.floor((Buffer.byteLength(request.body) * where.percent) / 100), stalls }
        : { after: where.share === 0 ? 0 : Math.max(leastWait, where.share * stage.setting.typical()) }
  }
  yield* stage.sendForm(actor, request, form, { op, kind: "cut" })
})

/** Begins many requests at once and goes away from all of them. */
export const storm = Effect.fnUntraced(function* (stage: Stage, count: number, percent: number, op: number) {
  yield* stage.renew
  const one = Effect.gen(function* () {
    const actor = yield* stage.mint(accessLog, { referable: false })
    yield* cut(stage, actor, { in: "body", percent }, op)
  })
  yield* Effect.forEach(Array.from({ length: count }), () => one, { concurrency: "unbounded", discard: true })
})

/** Begins many requests at once and says no more, for as long as the history goes on. */
export const stall = Effect.fnUntraced(function* (stage: Stage, count: number, percent: number, op: number) {
  const one = Effect.gen(function* () {
    const actor = yield* stage.mint(accessLog, { referable: false })
    yield* stage.beside(cut(stage, actor, { in: "body", percent }, op, { stalls: true }))
  })
  yield* Effect.forEach(Array.from({ length: count }), () => one, { discard: true })
  // They are to be there first, and what follows on a connection of its own, as another sender's.
  yield* Effect.sleep(untilThere)
  yield* stage.renew
})

/** Sends an event under a signature that is not good. That does not count as sending it. */
export const forged = Effect.fnUntraced(function* (stage: Stage, actor: Actor, kind: Forgery, op: number) {
  const request = yield* forge(actor.minted, actor.stamp, kind, stage.setting.secret)
  yield* stage.sendForm(actor, request, plainForm, { op, kind: "forged" })
})

const malformedBody = (actor: Actor, kind: Malformation): string => {
  const { body } = actor.minted
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
  stage: Stage,
  event: EventTemplate,
  kind: Malformation,
  op: number
) {
  const actor = yield* stage.mint(event)
  const body = malformedBody(actor, kind)
  const request = yield* make(actor.stamp, body, [], stage.setting.secret)
  yield* stage.sendForm(actor, request, plainForm, { op, kind: "malformed" })
})

/** Asks for an event by another method. */
export const otherMethod = Effect.fnUntraced(function* (
  stage: Stage,
  actor: Actor,
  method: HttpRequest["method"],
  withBody: boolean,
  op: number
) {
  const request = yield* make(actor.stamp, actor.minted.body, [], stage.setting.secret)
  const asked: HttpRequest = { ...request, method, body: withBody ? request.body : "" }
  yield* stage.sendForm(actor, asked, plainForm, { op, kind: "method" })
})
