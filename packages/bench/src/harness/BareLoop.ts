/**
 * The program that the engine is compared with: a loop that signs the same bodies and posts them concurrently with
 * `undici.request`. It neither stores nor retries.
 */
import { bodyOf } from "@doorhook/core"
import { createHmac } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent, request } from "undici"
import { eventOf, openRequests, signingSecret } from "./Workload.ts"

const key = Buffer.from(signingSecret.slice("whsec_".length), "base64")

const signAndSend = async (agent: Agent, port: number, n: number): Promise<void> => {
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
  const answer = await request(`http://127.0.0.1:${port}/hook`, { method: "POST", headers, body, dispatcher: agent })
  await answer.body.dump()
}

/** Sends `count` requests. Returns requests a second. */
export const bareLoop = async (port: number, count: number): Promise<number> => {
  const agent = new Agent({ connections: openRequests, pipelining: 1 })
  let next = 0
  const began = performance.now()
  const worker = async (): Promise<void> => {
    while (next < count) await signAndSend(agent, port, next++)
  }
  await Promise.all(Array.from({ length: openRequests }, worker))
  const rate = (count * 1_000) / (performance.now() - began)
  await agent.close()
  return rate
}

/** Sends `count` requests one after another, with a pause before each. Returns their latencies in milliseconds. */
export const bareRequests = async (port: number, count: number, pause: number): Promise<ReadonlyArray<number>> => {
  const agent = new Agent({ connections: 1, pipelining: 1 })
  const latencies: Array<number> = []
  for (let n = 0; n < count; n++) {
    await sleep(pause)
    const began = performance.now()
    await signAndSend(agent, port, n)
    latencies.push(performance.now() - began)
  }
  await agent.close()
  return latencies
}
