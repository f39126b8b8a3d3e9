/**
 * List integrations, see which fail, and set what operators can set.
 */
import { OperatorIntegrationDocument, UnreadableIntegrationDocument } from "@doorhook/server"
import { Schema } from "effect"
import { bodyOf, idInPath, queryOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** An integration as the operator sees it. Times are ISO 8601 UTC. */
export type IntegrationSummary = OperatorIntegrationDocument

const IntegrationPage = Schema.Struct({
  integrations: Schema.Array(OperatorIntegrationDocument),
  /** Those whose rows can't be read, because something else than doorhook has changed them. */
  unreadable: Schema.Array(UnreadableIntegrationDocument),
  next: Schema.NullOr(Schema.String)
})
export type IntegrationPage = typeof IntegrationPage.Type

const Probed = Schema.Struct({ delivery_id: Schema.String })

/** Which integrations to list. */
export interface IntegrationListOptions {
  /** Troubled are those that fail and those that doorhook disabled. */
  readonly status?: "enabled" | "disabled" | "troubled" | undefined
  /** The `next` of an earlier answer. Its null says that the list has ended: given here, it is refused. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** What to set. What is left out stays. */
export interface IntegrationChange {
  /** Whether it gets deliveries. */
  readonly status?: "enabled" | "disabled"
  /** Where its deliveries differ from the others', in place of what was set before: `{}` takes everything back. */
  readonly overrides?: {
    /** Which statuses acknowledge: 200 alone, or any of 2xx. */
    readonly acknowledge?: "200" | "2xx"
    /** Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`; an empty list is no retry. */
    readonly retry?: Readonly<Record<string, ReadonlyArray<string>>>
    /** Special-purpose networks that it may use beside those that all may, like `10.0.0.0/8`. */
    readonly allow_targets?: ReadonlyArray<string>
  }
}

/** Each call rejects with a `DoorhookError`: `not_found` for an id that there is not, `invalid` for a change that can't be made, `bad_request` for what is no id or no change at all. */
export interface IntegrationsClient {
  /** A page of integrations, by id. */
  readonly list: (options?: IntegrationListOptions) => Promise<IntegrationPage>
  /** One integration. */
  readonly show: (id: string | number) => Promise<IntegrationSummary>
  /** Changes status and overrides, and returns the integration as it is then. */
  readonly set: (id: string | number, change: IntegrationChange) => Promise<IntegrationSummary>
  /**
   * Sends the newest unacknowledged delivery of one that doorhook disabled: acknowledged, it enables the integration. Says
   * which delivery that is. Rejects with `not_disabled` or `nothing_to_send` when there is nothing to probe.
   */
  readonly probe: (id: string | number) => Promise<{ readonly delivery_id: string }>
}

const pathOf = (id: string | number): string =>
  `/operator/integrations/${idInPath(id, 'the id of an integration, like "12"')}`

export const makeIntegrationsClient = ({ read }: OperatorCalls): IntegrationsClient => ({
  list: async (options) => read(IntegrationPage, "GET", `/operator/integrations${queryOf(options)}`),
  show: async (id) => read(OperatorIntegrationDocument, "GET", pathOf(id)),
  set: async (id, change) =>
    read(OperatorIntegrationDocument, "PATCH", pathOf(id), bodyOf("change", change, '{ status: "enabled" }')),
  probe: async (id) => read(Probed, "POST", `${pathOf(id)}/probe`)
})
