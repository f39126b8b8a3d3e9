/**
 * The yardstick: a loop that signs the same bodies and posts them by `undici.request`, so many at once. Nothing is stored,
 * nothing is retried.
 */
import { bodyOf } from "@doorhook/core"
import { createHmac } from "node:crypto"
import { Agent, request } from "undici"
import { eventOf, openRequests, signingSecret } from "./Workload.ts"

const key = Buffer.from(signingSecret.slice("whsec_".length), "base64")

/** Sends so many; answers how many a second. */
export const bareLoop = async (port: number, count: number): Promise<number> => {
  const agent = new Agent({ connections: openRequests, pipelining: 1 })
  const url = `http://127.0.0.1:${port}/hook`
  let next = 0
  const began = performance.now()
  const worker = async (): Promise<void> => {
    while (next < count) {
      const n = next++
      const body = bodyOf(eventOf(n))
      const id = `evt_${n}`
      const timestamp = Math.floor(Date.now() / 1_000)
      const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": `v1,${signature}`
      }
      const answer = await request(url, { method: "POST", headers, body, dispatcher: agent })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: openRequests }, worker))
  const rate = (count * 1_000) / (performance.now() - began)
  await agent.close()
  return rate
}
