/**
 * Makes genuine and forged requests, and receivers that remember what they recorded and reported.
 */
import { createReceiver, memoryStore } from "@doorhook/receiver"
import type { Delivery, Problem, ReceivedRequest, ReceiverOptions } from "@doorhook/receiver"
import { createHmac } from "node:crypto"

export const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
export const now = 1_790_000_000_000

export const eventBody = '{"event":{"resource_type":"call","action":"create","data":{"id":9007199254740993}},"more":1}'

/** Returns the headers of a genuine delivery signed at a time. */
export const signedHeaders = (body: string, at = now, id = "evt_1"): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(at / 1_000))
  const mac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${mac.update(`${id}.${timestamp}.${body}`).digest("base64")}`
  }
}

export const requestOf = ({
  text = eventBody,
  ...over
}: Partial<ReceivedRequest> & { readonly text?: string | Uint8Array } = {}): ReceivedRequest => ({
  method: "POST",
  url: "/hook",
  headers: { "webhook-id": "evt_1", "doorhook-attempt": "2" },
  address: "203.0.113.7",
  source: null,
  body: async (maxBytes) => (text.length > maxBytes ? null : Buffer.from(text)),
  ...over
})

export const makeKit = (options: Partial<ReceiverOptions<undefined>> = {}) => {
  const recorded: Array<Delivery> = []
  const problems: Array<Problem> = []
  const receiver = createReceiver({
    secrets: "allow_unsigned",
    store: memoryStore(),
    record: (_, delivery) => void recorded.push(delivery),
    onProblem: (problem) => void problems.push(problem),
    now: () => now,
    ...options
  })
  return { receiver, recorded, problems }
}
