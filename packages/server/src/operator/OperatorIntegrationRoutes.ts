/**
 * Which integrations there are, which fail, and what the operator sets of them.
 */
import {
  formatDeliveryId,
  isUnreadable,
  OperatorIntegrations,
  readSwitches,
  surveyedStatuses,
  TestEvents
} from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { readJson } from "../http/JsonBody.ts"
import { resource } from "../http/Resource.ts"
import { integrationId, pageOf, parseIntegrationId, readAfter, readChoice, readLimit } from "../http/ListQuery.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"
import { operatorIntegrationDocument, unreadableIntegrationDocument } from "./OperatorIntegrationDocument.ts"

/** The largest body of a change, in bytes. */
const maxChangeBytes = 16 * 1024

const makeRoutes = Effect.gen(function* () {
  const integrations = yield* OperatorIntegrations
  const tests = yield* TestEvents
  const { operation, refuse } = yield* OperatorEndpoint

  const list = operation(["status", "after", "limit"], (query) =>
    Effect.gen(function* () {
      const status = yield* readChoice(query, "status", surveyedStatuses)
      const after = (yield* readAfter(query, parseIntegrationId)) ?? 0
      const { items, next } = yield* pageOf(yield* readLimit(query), (limit) =>
        integrations.list({ after, limit, ...(status !== null && { status }) })
      )
      return {
        status: 200,
        body: {
          integrations: items.flatMap((item) => (isUnreadable(item) ? [] : [operatorIntegrationDocument(item)])),
          unreadable: items.filter(isUnreadable).map(unreadableIntegrationDocument),
          next: next === null ? null : String(isUnreadable(next) ? next.id : next.integration.id)
        }
      }
    })
  )

  const show = operation([], () =>
    Effect.gen(function* () {
      return { status: 200, body: operatorIntegrationDocument(yield* integrations.show(yield* integrationId)) }
    })
  )

  const set = operation([], () =>
    Effect.gen(function* () {
      const id = yield* integrationId
      const switches = yield* Effect.fromResult(readSwitches(yield* readJson(maxChangeBytes)))
      return { status: 200, body: operatorIntegrationDocument(yield* integrations.set(id, switches)) }
    })
  )

  const probe = operation([], () =>
    Effect.gen(function* () {
      const id = yield* integrationId
      const delivery_id = formatDeliveryId(yield* integrations.probe(id))
      return { status: 202, body: { id: String(id), delivery_id } }
    })
  )

  const test = operation([], () =>
    Effect.gen(function* () {
      const { delivery_id, event_id, resource_type } = yield* tests.send(yield* integrationId)
      return { status: 202, body: { delivery_id: formatDeliveryId(delivery_id), event_id, resource_type } }
    })
  )

  return [
    resource("/operator/integrations", { GET: list }, refuse),
    resource("/operator/integrations/:id", { GET: show, PATCH: set }, refuse),
    resource("/operator/integrations/:id/probe", { POST: probe }, refuse),
    resource("/operator/integrations/:id/test_event", { POST: test }, refuse)
  ]
})

export const OperatorIntegrationRoutes = HttpRouter.addAll(makeRoutes)
