/**
 * List integrations, see which fail, and set what operators can set.
 */
import {
  Dispatcher,
  formatDeliveryId,
  isUnreadable,
  OperatorIntegrations,
  readSwitches,
  ResourceTypes,
  surveyedStatuses,
  TestEvents
} from "@doorhook/core"
import type { SurveyedIntegration } from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { readJson } from "../http/JsonBody.ts"
import { resource } from "../http/Resource.ts"
import { integrationId, pageOf, parseIntegrationId, readAfter, readChoice, readLimit } from "../http/ListQuery.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"
import {
  catchingUpOf,
  operatorIntegrationDocument,
  unreadableIntegrationDocument
} from "./OperatorIntegrationDocument.ts"

/** The largest body of a change, in bytes. */
const maxChangeBytes = 16 * 1024

const makeRoutes = Effect.gen(function* () {
  const integrations = yield* OperatorIntegrations
  const tests = yield* TestEvents
  const dispatcher = yield* Dispatcher
  const types = yield* ResourceTypes
  const { operation, refuse } = yield* OperatorEndpoint

  /** How integrations are now: as stored, and as this process sends to them. */
  const describe = Effect.map(
    dispatcher.status,
    (status) => (found: SurveyedIntegration) =>
      operatorIntegrationDocument(found, catchingUpOf(status, found.integration))
  )

  const list = operation(["status", "after", "limit"], (query) =>
    Effect.gen(function* () {
      const status = yield* readChoice(query, "status", surveyedStatuses)
      const after = (yield* readAfter(query, parseIntegrationId)) ?? 0
      const { items, next } = yield* pageOf(yield* readLimit(query), (limit) =>
        integrations.list({ after, limit, ...(status !== null && { status }) })
      )
      const documentOf = yield* describe
      return {
        status: 200,
        body: {
          integrations: items.flatMap((item) => (isUnreadable(item) ? [] : [documentOf(item)])),
          unreadable: items.filter(isUnreadable).map(unreadableIntegrationDocument),
          next: next === null ? null : String(isUnreadable(next) ? next.id : next.integration.id)
        }
      }
    })
  )

  const show = operation([], () =>
    Effect.gen(function* () {
      const found = yield* integrations.show(yield* integrationId)
      return { status: 200, body: (yield* describe)(found) }
    })
  )

  const set = operation([], () =>
    Effect.gen(function* () {
      const id = yield* integrationId
      const switches = yield* Effect.fromResult(readSwitches(yield* readJson(maxChangeBytes), types))
      const changed = yield* integrations.set(id, switches)
      return { status: 200, body: (yield* describe)(changed) }
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
