/**
 * The operator API as an object: in an embedding process by calling the handler, over the network by `fetch`. Shapes and
 * rules are those of the API itself.
 */
import { Option, Schema } from "effect"
import { DoorhookError } from "./DoorhookError.ts"

/** A delivery in a list. Times are ISO 8601 UTC. */
const DeliverySummary = Schema.Struct({
  id: Schema.String,
  event_id: Schema.String,
  integration_id: Schema.String,
  state: Schema.String,
  /** Why it ended without being acknowledged, or was never begun. */
  reason: Schema.NullOr(Schema.String),
  attempts: Schema.Finite,
  next_attempt_at: Schema.NullOr(Schema.String),
  created_at: Schema.String
})
export type DeliverySummary = typeof DeliverySummary.Type

/** One request that was made to a receiver. */
const DeliveryAttempt = Schema.Struct({
  number: Schema.Finite,
  started_at: Schema.String,
  duration_ms: Schema.Finite,
  outcome: Schema.String,
  status: Schema.NullOr(Schema.Finite),
  response_excerpt: Schema.NullOr(Schema.String),
  detail: Schema.NullOr(Schema.String)
})
export type DeliveryAttempt = typeof DeliveryAttempt.Type

/** A delivery with all its attempts. */
const DeliveryDetail = Schema.Struct({ ...DeliverySummary.fields, attempts: Schema.Array(DeliveryAttempt) })
export type DeliveryDetail = typeof DeliveryDetail.Type

const DeliveryPage = Schema.Struct({ deliveries: Schema.Array(DeliverySummary), next: Schema.NullOr(Schema.String) })
export type DeliveryPage = typeof DeliveryPage.Type

const Recovered = Schema.Struct({ deliveries: Schema.Finite })

const ApiErrors = Schema.Struct({
  errors: Schema.Array(
    Schema.Struct({ code: Schema.optionalKey(Schema.String), detail: Schema.optionalKey(Schema.String) })
  )
})

/** Which deliveries to list. */
export interface ListOptions {
  readonly state?: string | undefined
  readonly integration_id?: string | undefined
  readonly event_id?: string | undefined
  /** The `next` of an earlier answer. */
  readonly after?: string | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

export interface DeliveriesClient {
  readonly list: (options?: ListOptions) => Promise<DeliveryPage>
  readonly show: (id: string) => Promise<DeliveryDetail>
  /** Sends a delivery again at once, as its next attempt. */
  readonly resend: (id: string) => Promise<void>
  /** Sends all that an integration has not acknowledged since a time; says how many. */
  readonly recover: (integrationId: string, since: Date | string) => Promise<{ readonly deliveries: number }>
}

/** Calls the operator API through a handler of requests. */
export const makeDeliveriesClient = (
  send: (request: Request) => Promise<Response>,
  key: string,
  base = "http://localhost"
): DeliveriesClient => {
  const call = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const response = await send(
      new Request(`${base}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )
    if (response.ok) return response
    const { errors } = Option.getOrElse(Schema.decodeUnknownOption(ApiErrors)(await response.json()), () => ({
      errors: []
    }))
    const message = errors.map(({ detail }) => detail).join(" ") || `The operator API answered ${response.status}.`
    throw new DoorhookError(errors[0]?.code ?? "operator_api", message, response.status)
  }
  const json = async <A>(schema: Schema.Codec<A, unknown>, response: Promise<Response>): Promise<A> =>
    Schema.decodeUnknownPromise(schema)(await (await response).json())
  return {
    list: (options = {}) => {
      const query = new URLSearchParams()
      for (const [name, value] of Object.entries(options)) if (value !== undefined) query.set(name, String(value))
      return json(DeliveryPage, call("GET", `/operator/deliveries?${query.toString()}`))
    },
    show: (id) => json(DeliveryDetail, call("GET", `/operator/deliveries/${encodeURIComponent(id)}`)),
    resend: async (id) => {
      await call("POST", `/operator/deliveries/${encodeURIComponent(id)}/resend`)
    },
    recover: (integrationId, since) =>
      json(
        Recovered,
        call("POST", `/operator/integrations/${encodeURIComponent(integrationId)}/recover`, {
          since: typeof since === "string" ? since : since.toISOString()
        })
      )
  }
}
