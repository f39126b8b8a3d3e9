/**
 * What a receiver gets: one attempt to deliver one event.
 */

/** The event of a delivery, as JSON.parse reads it. Numbers beyond 2^53 are exact in `Delivery.body` only. */
export interface WebhookEvent {
  /** `access_log`, `call`, or a type that does not exist yet. */
  readonly resource_type: string
  readonly action: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface Delivery {
  /** `webhook-id`: the same on every attempt of the event. Use it as the idempotency key of what you call. */
  readonly id: string
  /** `doorhook-attempt`: 1 for the first; 1 where the header is missing. */
  readonly attempt: number
  /** Milliseconds since the epoch, by this machine's clock. */
  readonly receivedAt: number
  readonly event: WebhookEvent
  /** The body as it came, byte for byte. */
  readonly body: string
}

/** A request, whichever server it came through. */
export interface ReceivedRequest {
  readonly method: string
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  /** The address of the sender; null where the server does not tell. */
  readonly address: string | null
}

/** What is answered. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Reads the body; a text that says what is wrong with it where it is no event. Unknown members are let through. */
export const readEvent = (bytes: Uint8Array): { readonly event: WebhookEvent; readonly body: string } | string => {
  let body: string
  let value: unknown
  try {
    body = strictUtf8.decode(bytes)
    value = JSON.parse(body)
  } catch {
    return "the body is not JSON in UTF-8"
  }
  const event = isObject(value) ? value["event"] : undefined
  if (!isObject(event)) return "the body has no object `event`"
  const { action, data, resource_type } = event
  if (typeof resource_type !== "string" || typeof action !== "string" || !isObject(data)) {
    return "the event needs `resource_type`, `action` and an object `data`"
  }
  return { event: { resource_type, action, data }, body }
}
