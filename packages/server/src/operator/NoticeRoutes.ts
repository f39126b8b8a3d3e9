/**
 * `GET /operator/notices`: what doorhook noticed about integrations, the oldest first.
 */
import { NoticeId, Notices, parsePositiveInt } from "@doorhook/core"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { resource } from "../http/Resource.ts"
import { pageOf, readAfter, readIntegrationId, readLimit } from "./ListQuery.ts"
import { noticeDocument } from "./NoticeDocument.ts"
import { OperatorEndpoint } from "./OperatorEndpoint.ts"

const makeRoutes = Effect.gen(function* () {
  const notices = yield* Notices
  const { operation, refuse } = yield* OperatorEndpoint

  const list = operation(["integration_id", "after", "limit"], (query) =>
    Effect.gen(function* () {
      const integration_id = yield* readIntegrationId(query)
      const after = yield* readAfter(query, (text) => parsePositiveInt(NoticeId, text))
      const { items, next } = yield* pageOf(yield* readLimit(query), (limit) =>
        notices.list({ limit, ...(integration_id !== null && { integration_id }), ...(after !== null && { after }) })
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
