/**
 * Operations in which the sender hangs up, or sends something other than a genuine event.
 */
import { Crypto, DeliveryRequest, Signature } from "@doorhook/core"
import { Effect } from "effect"
import type { HttpRequest } from "../evidence/Exchange.ts"
import { accessLog, bodyOf, plainEvents, withUnknown } from "../history/Events.ts"
import { string } from "../history/Json.ts"
import type { Cut, OperationOf } from "../history/Operations.ts"
import { carrierOf, forgeryOf, keyOf, malformations } from "../history/Variations.ts"
import type { Signed } from "../history/Variations.ts"
import { open } from "../http/Wire.ts"
import { createEvent } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"
import { prepare, requestOf, send, sendRequest } from "./Send.ts"
import { maxInFlight } from "./Slots.ts"

const names = Signature.headerNames

/** Minimum wait before the suite hangs up, in milliseconds, even if the receiver usually answers sooner. */
const leastWait = 2

/** Time for unfinished requests to reach the receiver, in milliseconds. */
const untilThere = 100

/** Sends an event and hangs up, or stops in the middle of the body and stays connected. */
export const cut = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { cut: where, stalls = false }: { readonly cut: Cut; readonly stalls?: boolean },
  op: number
) {
  const request = yield* prepare(execution, actor)
  const place =
    where.in === "body"
      ? { bytes: Math.floor((Buffer.byteLength(request.body) * where.percent) / 100), stalls }
      : { after: where.share === 0 ? 0 : Math.max(leastWait, where.share * execution.setting.typical()) }
  yield* sendRequest(execution, actor, request, { cut: place }, { op, kind: "cut" })
})

/** Creates an event of the most common kind. */
const createUsual = (execution: Execution, bulk = false) =>
  createEvent(execution, plainEvents(execution.setting.bindings)[0] ?? accessLog, { bulk, referable: false })

/** Begins many requests, ten at a time, and hangs up on all of them. */
export const storm = (execution: Execution, { count, percent }: OperationOf<"abort_storm">, op: number) =>
  createUsual(execution, true).pipe(
    Effect.flatMap((actor) => cut(execution, actor, { cut: { in: "body", percent } }, op)),
    Effect.replicateEffect(count, { concurrency: maxInFlight, discard: true })
  )

/**
 * Begins many requests at the same time and leaves them unfinished until the history ends. Ignores their failures,
 * because later requests show whether the receiver can still be reached.
 */
export const stall = Effect.fnUntraced(function* (
  execution: Execution,
  { count, percent }: OperationOf<"stalled">,
  op: number
) {
  for (let begun = 0; begun < count; begun++) {
    const actor = yield* createUsual(execution)
    yield* Effect.forkIn(cut(execution, actor, { cut: { in: "body", percent }, stalls: true }, op), execution.scope)
  }
  // Waits until the unfinished requests have arrived. Later events get a new connection, as if from another sender.
  yield* Effect.sleep(untilThere)
  yield* execution.connection.renew
})

const filling = string("x".repeat(66_000))

/** Builds a forged request of the given kind. */
const forge = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { by: carrier, kind }: Pick<OperationOf<"forged">, "by" | "kind">
) {
  const { secret, criteria } = execution.setting
  const { contentType, large = false, method = "POST" } = carrierOf(carrier)
  const { body, header, only, signature, signed, without = [] } = forgeryOf(kind)
  const { filled } = actor.created
  const event = large ? withUnknown(filled, ["remarks", filling]) : filled
  const genuine = yield* requestOf(execution, actor, bodyOf(event))
  const { expiresAt, signedAt } = actor
  const content = { id: actor.created.webhook_id, signedAt, expiresAt, isReplay: false, body: genuine.body }
  const otherwise: Partial<Signed> = signed?.(content, criteria.tolerance) ?? {}
  const by = otherwise.by === undefined || secret === null ? secret : yield* keyOf(otherwise.by, secret)
  const crypto = yield* Crypto
  const made = yield* DeliveryRequest.headersOf(
    crypto,
    { ...content, attempt: actor.attempt, ...otherwise },
    by === null ? [] : [by]
  )
  const headers: Record<string, string> = { ...genuine.headers, ...(only === undefined ? made : {}) }
  const good = made[names.signature] ?? ""
  if (only !== undefined || signature !== undefined) headers[names.signature] = signature?.(good) ?? good
  if (header !== undefined) headers[header[0]] = header[1]
  if (contentType !== undefined) headers["content-type"] = contentType
  for (const name of without) delete headers[name]
  const request: HttpRequest = { ...genuine, method, headers, body: body?.(genuine.body, event) ?? genuine.body }
  return request
})

/**
 * Sends an event with a forged signature. The operation's carrier (`by`) decides how the request is sent. The request
 * does not count as sending the event.
 */
export const forged = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  operation: Pick<OperationOf<"forged">, "by" | "kind">,
  op: number
) {
  const request = yield* forge(execution, actor, operation)
  const about = { op, kind: "forged" } as const
  const { form = {}, kept = false } = carrierOf(operation.by)
  if (!kept) return yield* sendRequest(execution, actor, request, form, about)
  yield* execution.connection.renew
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const own = yield* open(execution.setting.urls[0])
      yield* send(execution, yield* createUsual(execution, true), [], { op }, own)
      return yield* sendRequest(execution, actor, request, {}, about, own)
    })
  )
})

/** Sends a malformed body with the id of an event. */
export const malformed = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { kind }: OperationOf<"malformed">,
  op: number
) {
  const request = yield* requestOf(execution, actor, malformations[kind].spoil(actor.created.body))
  yield* sendRequest(execution, actor, request, {}, { op, kind: "malformed" })
})

/** Sends a request about an event with a method other than POST. */
export const otherMethod = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { method, with_body }: Pick<OperationOf<"method_new">, "method" | "with_body">,
  op: number
) {
  const request = yield* requestOf(execution, actor, actor.created.body)
  const asked = { ...request, method, body: with_body ? request.body : "" }
  yield* sendRequest(execution, actor, asked, {}, { op, kind: "method" })
})
