/**
 * Calls of the operator API, of the service that this script came from.
 */
import { key } from "./session.js"

/** What the API refused, in its own words. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 when there was no answer
   * @param {string} message
   */
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

/**
 * @typedef {{ why: string, next: string }} Explanation
 * @typedef {{ id: string, event_id: string, integration_id: string, state: string, reason: string | null,
 *   next_attempt_at: string | null, created_at: string }} DeliveryBase
 * @typedef {{ number: number, started_at: string, outcome: string, status: number | null }} AttemptEnd
 * @typedef {DeliveryBase & { attempts: number, last_attempt: AttemptEnd | null }} Delivery
 * @typedef {{ number: number, started_at: string, duration_ms: number, outcome: string, status: number | null,
 *   response_excerpt: string | null, detail: string | null, explanation: string }} Attempt
 * @typedef {DeliveryBase & { explanation: Explanation, attempts: Attempt[] }} DeliveryDetail
 * @typedef {{ id: string, scope: { type: string, id: number }, url: string,
 *   bindings: { resource_type: string, actions: string[] }[], status: string, disabled_reason: string | null,
 *   failing: { since: string, notices: number } | null, catching_up: { since: string } | null, overrides: object,
 *   created_at: string, updated_at: string }} Integration
 * @typedef {{ id: string, kind: string, integration_id: string | null, scope: { type: string, id: number } | null,
 *   at: string, until?: string, failing_since?: string | null, disables_at?: string, reason?: string, deliveries?: number }} Notice
 * @typedef {{ at: string, status: string, detail: string | null,
 *   database: { events: number, deliveries: Record<string, number>, oldest_due_at: string | null } | null,
 *   process: { events_accepted: number, attempts: Record<string, number>,
 *     acknowledgement_latency: { count: number, buckets: { le_ms: number, count: number }[] },
 *     delivering: number, buffered: number, unsettled: number, last_claim_at: string | null,
 *     catching_up: { integration_id: string, since: string }[],
 *     deliveries_wait: { cause: string, since: string, detail: string } | null } }} Figures
 */

const base = new URL("../operator/", import.meta.url)

/** @param {string} text */
const messageOf = (text) => {
  try {
    return JSON.parse(text)
      .errors.map((/** @type {{ detail: string }} */ { detail }) => detail)
      .join(" ")
  } catch {
    return ""
  }
}

/**
 * @param {string} method
 * @param {string} path Below `/operator/`.
 * @param {{ body?: object, signal?: AbortSignal, as?: string | null }} [options]
 * @returns {Promise<any>}
 */
export const call = async (method, path, { body, signal, as = key() } = {}) => {
  /** @type {RequestInit} */
  const init = {
    method,
    headers: { authorization: `Bearer ${as ?? ""}`, "content-type": "application/json" },
    // The key is all that counts: nothing is sent along that the browser adds by itself.
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
    referrerPolicy: "no-referrer"
  }
  if (body !== undefined) init.body = JSON.stringify(body)
  if (signal !== undefined) init.signal = signal
  /** @type {Response} */
  let response
  try {
    response = await fetch(new URL(path, base), init)
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new ApiError(0, "The service does not answer. It is asked again as long as this page is open.")
  }
  const text = await response.text()
  if (!response.ok) throw new ApiError(response.status, messageOf(text) || `The service answered ${response.status}.`)
  return text === "" ? null : JSON.parse(text)
}

/**
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} query What is empty is left out.
 */
export const withQuery = (path, query) => {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
