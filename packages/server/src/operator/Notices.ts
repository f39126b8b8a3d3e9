/**
 * Notices about integrations that fail, were disabled, recovered, or had deliveries given up. Times are ISO 8601 UTC.
 */
import { DisabledReason, isoOf, NoticeId, Notices, parsePositiveInt } from "@doorhook/core"
import type { Notice } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { all, pageOf, readAfter, readIntegrationId, readLimit, readOrder } from "../http/Query.ts"
import { OperatorScope } from "./Integrations.ts"
import { handler, operation } from "./Operation.ts"

const about = {
  id: Schema.String,
  integration_id: Schema.String,
  /** Whose integration it is. */
  scope: OperatorScope,
  at: Schema.String
}

export const NoticeDocument = Schema.Union([
  /**
   * Nothing was acknowledged since `failing_since`. If that lasts, a failed attempt disables the integration: at `disables_at`
   * at the earliest, and not before the tenth.
   */
  Schema.Struct({
    kind: Schema.Literal("failing"),
    ...about,
    failing_since: Schema.String,
    disables_at: Schema.String
  }),
  /** doorhook disabled the integration. */
  Schema.Struct({ kind: Schema.Literal("disabled"), ...about, reason: DisabledReason }),
  /** It acknowledges again. */
  Schema.Struct({ kind: Schema.Literal("recovered"), ...about, failing_since: Schema.NullOr(Schema.String) }),
  /** Some deliveries were given up, because their schedules are used up. */
  Schema.Struct({ kind: Schema.Literal("exhausted"), ...about, deliveries: Schema.Finite }),
  /** The clock jumped ahead: nothing is deleted for being old until a time. About no integration. */
  Schema.Struct({
    kind: Schema.Literal("retention_paused"),
    id: Schema.String,
    integration_id: Schema.Null,
    scope: Schema.Null,
    at: Schema.String,
    ahead_ms: Schema.Finite,
    until: Schema.String
  })
])
export type NoticeDocument = typeof NoticeDocument.Type

const PageDocument = Schema.Struct({ notices: Schema.Array(NoticeDocument), next: Schema.NullOr(Schema.String) })
export type NoticePageDocument = typeof PageDocument.Type

export const noticeOperations = {
  list: operation({
    name: "notices.list",
    method: "GET",
    path: "/operator/notices",
    query: ["integration_id", "order", "after", "limit"],
    answer: PageDocument
  })
}

export const noticeDocument = (notice: Notice): NoticeDocument => {
  if (notice.kind === "retention_paused") {
    return { ...notice, id: String(notice.id), at: isoOf(notice.at), until: isoOf(notice.until) }
  }
  const about = {
    id: String(notice.id),
    integration_id: String(notice.integration_id),
    scope: notice.scope,
    at: isoOf(notice.at)
  }
  switch (notice.kind) {
    case "failing":
      return {
        kind: notice.kind,
        ...about,
        failing_since: isoOf(notice.failing_since),
        disables_at: isoOf(notice.disables_at)
      }
    case "disabled":
      return { kind: notice.kind, ...about, reason: notice.reason }
    case "recovered":
      return {
        kind: notice.kind,
        ...about,
        failing_since: notice.failing_since === null ? null : isoOf(notice.failing_since)
      }
    case "exhausted":
      return { kind: notice.kind, ...about, deliveries: notice.deliveries }
  }
}

export const makeNoticeHandlers = Effect.gen(function* () {
  const notices = yield* Notices
  return [
    handler(noticeOperations.list, ({ query }) =>
      Effect.gen(function* () {
        const filter = yield* all({
          integration_id: readIntegrationId(query),
          order: readOrder(query),
          after: readAfter(query, (text) => parsePositiveInt(NoticeId, text)),
          limit: readLimit(query)
        })
        const { after, integration_id, order } = filter
        const { items, next } = yield* pageOf(filter.limit, (limit) =>
          notices.list({
            limit,
            order,
            ...(integration_id !== null && { integration_id }),
            ...(after !== null && { after })
          })
        )
        return { notices: items.map(noticeDocument), next: next === null ? null : String(next.id) }
      })
    )
  ]
})
