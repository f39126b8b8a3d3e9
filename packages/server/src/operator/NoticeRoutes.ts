/**
 * `GET /operator/notices`: what doorhook noticed about integrations, the oldest first unless it is told otherwise.
 */
import { NoticeId, Notices, parsePositiveInt } from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { resource } from "../http/Resource.ts"
import { pageOf, readAfter, readIntegrationId, readLimit, readOrder } from "../http/ListQuery.ts"
import { noticeDocument } from "./NoticeDocument.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

const makeRoutes = Effect.gen(function* () {
  const notices = yield* Notices
  const { operation, refuse } = yield* OperatorEndpoint

  const list = operation(["integration_id", "order", "after", "limit"], (query) =>
    Effect.gen(function* () {
      const integration_id = yield* readIntegrationId(query)
      const order = yield* readOrder(query)
      const after = yield* readAfter(query, (text) => parsePositiveInt(NoticeId, text))
      const { items, next } = yield* pageOf(yield* readLimit(query), (limit) =>
        notices.list({
          limit,
          order,
          ...(integration_id !== null && { integration_id }),
          ...(after !== null && { after })
        })
      )
      return {
        status: 200,
        body: { notices: items.map(noticeDocument), next: next === null ? null : String(next.id) }
      }
    })
  )

  return [resource("/operator/notices", { GET: list }, refuse)]
})

export const NoticeRoutes = HttpRouter.addAll(makeRoutes)
