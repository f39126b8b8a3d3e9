/**
 * What doorhook noticed about integrations: those that fail, were disabled, recovered, or had deliveries given up.
 */
import { NoticeDocument } from "@doorhook/server"
import { Schema } from "effect"
import type { OperatorCalls } from "./OperatorCalls.ts"
import { queryOf } from "./Arguments.ts"

/** A notice. Times are ISO 8601 UTC. */
export type DoorhookNotice = NoticeDocument

const NoticePage = Schema.Struct({ notices: Schema.Array(NoticeDocument), next: Schema.NullOr(Schema.String) })
export type NoticePage = typeof NoticePage.Type

/** Which notices to list. */
export interface NoticeListOptions {
  /** Only those of this integration. */
  readonly integration_id?: string | number | undefined
  /** Which comes first; default `oldest`. */
  readonly order?: "oldest" | "newest" | undefined
  /** Only notices after this one in that order, like the `next` of an earlier answer. Its null says that the list has ended: given here, it is refused. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** Calls reject with a `DoorhookError`: `invalid_parameter` for an option that is wrong. */
export interface NoticesClient {
  /** A page of notices, the oldest first unless `order` says otherwise. */
  readonly list: (options?: NoticeListOptions) => Promise<NoticePage>
}

export const makeNoticesClient = ({ read }: OperatorCalls): NoticesClient => ({
  list: async (options) => read(NoticePage, "GET", `/operator/notices${queryOf(options)}`)
})
