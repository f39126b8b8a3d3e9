/**
 * What was not delivered, why, and sending it again.
 */
import { Deliveries, formatDeliveryId, isoOf, parseDeliveryId, parseIso } from "@doorhook/core"
import { Clock, Effect, Option, Predicate } from "effect"
import { HttpRouter } from "effect/http"
import { readJson } from "../http/JsonBody.ts"
import { pathId } from "../http/PathId.ts"
import { failure } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { countsOf, detailOf, listedOf } from "./DeliveryDocument.ts"
import { deliveryParameters, readFilter } from "./DeliveryQuery.ts"
import { integrationId, pageOf } from "../http/ListQuery.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

/** The largest body of a recover request, in bytes. */
const maxRecoverBytes = 4 * 1024

const deliveryId = pathId("id", parseDeliveryId, "a delivery (dlv_...)")

/** By how much the clock of whoever asks may be ahead of this one, in milliseconds. */
const mostSkew = 60_000

/** The time that a recover request names. */
const readSince = Effect.gen(function* () {
  const body = yield* readJson(maxRecoverBytes)
  const given = Predicate.isReadonlyObject(body) && body["since"] !== undefined
  const since = given && Predicate.isString(body["since"]) ? parseIso(body["since"]) : Option.none<number>()
  const now = yield* Clock.currentTimeMillis
  if (Option.isSome(since) && since.value <= now + mostSkew) return since.value
  if (Option.isSome(since)) {
    return yield* failure(422, {
      code: "invalid",
      title: "Invalid value",
      detail: `\`since\` must be in the past; ${isoOf(since.value)} is still to come. Here it is ${isoOf(now)}.`,
      source: { pointer: "/since" }
    })
  }
  return yield* failure(422, {
    code: given ? "invalid" : "blank",
    title: given ? "Invalid value" : "Missing member",
    detail: "`since` must be a date, or a time with its offset, in ISO 8601, like 2026-03-02T00:00:00Z.",
    source: { pointer: given ? "/since" : "" }
  })
})

const makeRoutes = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const { operation, refuse } = yield* OperatorEndpoint

  const list = operation(deliveryParameters, (query) =>
    Effect.gen(function* () {
      const filter = yield* readFilter(query)
      const { items, next } = yield* pageOf(filter.limit, (limit) => deliveries.list({ ...filter, limit }))
      return {
        status: 200,
        body: { deliveries: items.map(listedOf), next: next === null ? null : formatDeliveryId(next.id) }
      }
    })
  )

  const count = operation([], () =>
    Effect.map(deliveries.summary, (summary) => ({ status: 200, body: countsOf(summary) }))
  )

  const show = operation([], () =>
    Effect.gen(function* () {
      return { status: 200, body: detailOf(yield* deliveries.show(yield* deliveryId)) }
    })
  )

  const resend = operation([], () =>
    Effect.gen(function* () {
      const id = yield* deliveryId
      yield* deliveries.resend(id)
      return { status: 202, body: { id: formatDeliveryId(id) } }
    })
  )

  const recover = operation([], () =>
    Effect.gen(function* () {
      const id = yield* integrationId
      return { status: 202, body: { deliveries: yield* deliveries.recover(id, yield* readSince) } }
    })
  )

  return [
    resource("/operator/deliveries", { GET: list }, refuse),
    resource("/operator/summary", { GET: count }, refuse),
    resource("/operator/deliveries/:id", { GET: show }, refuse),
    resource("/operator/deliveries/:id/resend", { POST: resend }, refuse),
    resource("/operator/integrations/:id/recover", { POST: recover }, refuse)
  ]
})

export const DeliveryRoutes = HttpRouter.addAll(makeRoutes)
