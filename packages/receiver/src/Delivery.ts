/**
 * Requests, the events in them, and answers.
 */

/** The event of a delivery, as parsed by `JSON.parse`. Integers beyond 2^53 are exact only in `Delivery.body`. */
export interface WebhookEvent {
  /** `access_log`, `call`, or another type. */
  readonly resource_type: "access_log" | "call" | (string & {})
  /** `create`, or another action. */
  readonly action: "create" | (string & {})
  readonly data: Readonly<Record<string, unknown>>
}

/** One attempt to deliver one event. */
export interface Delivery {
  /**
   * `webhook-id`: the same on every attempt to deliver the event. Use it as the idempotency key of your own calls to
   * other services.
   */
  readonly id: string
  /** The number in `doorhook-attempt`, starting at 1; also 1 without the header. */
  readonly attempt: number
  /**
   * When the event expires, in milliseconds since the epoch (`doorhook-expires-at`); null if it never does. After this
   * time nobody should be rung up any more.
   */
  readonly expiresAt: number | null
  /**
   * Whether somebody asked for this attempt, for example after an outage (`doorhook-replay`). Store the event, but don't
   * act as if it had just happened.
   */
  readonly isReplay: boolean
  /** Time of receipt in milliseconds since the epoch, by this machine's clock. */
  readonly receivedAt: number
  readonly event: WebhookEvent
  /** The body exactly as it arrived. */
  readonly body: string
}

/** Whether an event has expired, for example a call that nobody waits for any more. `now` is in milliseconds. */
export const isExpired = ({ expiresAt }: Pick<Delivery, "expiresAt">, now: number = Date.now()): boolean =>
  expiresAt !== null && now >= expiresAt

/** Reads a time in whole seconds since the epoch, to milliseconds; null without a valid one. */
export const parseSeconds = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : null

/** A request, independent of the server framework. */
export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Address of the sender; null if the server does not provide it. */
  readonly address: string | null
  /** Reads the body; null if it is longer than `maxBytes`. Rejects if the sender closes the connection too early. */
  readonly body: (maxBytes: number) => Promise<Uint8Array | null>
  /** The server's own request object, `IncomingMessage` or `Request`, for your own `ReceiverParts`. */
  readonly source: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const answer = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body
})

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Reads the event in a body, or returns a text that says what is wrong. Accepts unknown members. */
export const parseEvent = (
  bytes: Uint8Array
): { readonly event: WebhookEvent; readonly body: string } | { readonly wrong: string } => {
  let body: string
  let value: unknown
  try {
    body = strictUtf8.decode(bytes)
    value = JSON.parse(body)
  } catch {
    return { wrong: "the body is not JSON in UTF-8" }
  }
  const event = isObject(value) ? value["event"] : undefined
  if (!isObject(event)) return { wrong: "the body has no object `event`" }
  const { action, data, resource_type } = event
  return typeof resource_type === "string" && typeof action === "string" && isObject(data)
    ? { event: { resource_type, action, data }, body }
    : { wrong: "the event needs the strings `resource_type` and `action` and an object `data`" }
}
