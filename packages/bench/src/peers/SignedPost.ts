/**
 * Sends the webhook request for a job from a queue. Signs the body at each attempt and sends it with undici's
 * `dispatch`, the fastest client for Node.js. If the response is not 200, the job fails and the queue retries it.
 */
import { bodyOf } from "@doorhook/core"
import { createHmac } from "node:crypto"
import { Pool } from "undici"
import { eventOf, openRequests, signingSecret } from "../harness/Workload.ts"
import type { OnAnswer, Place } from "./Contender.ts"

/** The data of a job. */
export interface Job {
  readonly n: number
  readonly id: string
  readonly body: string
}

export const jobOf = (n: number): Job => ({ n, id: `evt_${n}`, body: bodyOf(eventOf(n)) })

/** Retry settings, the same for all queues. */
export const retries = { attempts: 8, firstDelay: 5_000 }

const key = Buffer.from(signingSecret.slice("whsec_".length), "base64")

const headersOf = ({ body, id }: Job): Record<string, string> => {
  const timestamp = Math.floor(Date.now() / 1_000)
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${signature}`
  }
}

export class SignedPost {
  readonly #pool: Pool
  readonly #onAnswer: OnAnswer | null
  #answered = 0

  constructor({ onAnswer, port }: Pick<Place, "onAnswer" | "port">) {
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: openRequests, pipelining: 1 })
    this.#onAnswer = onAnswer
  }

  /** The number of acknowledged requests. */
  get answered(): number {
    return this.#answered
  }

  /** Resolves when the receiver has acknowledged the job. */
  send(job: Job): Promise<void> {
    return new Promise((resolve, reject) => {
      let status = 0
      this.#pool.dispatch(
        { path: "/hook", method: "POST", headers: headersOf(job), body: job.body },
        {
          onRequestStart: () => undefined,
          onResponseStart(_, statusCode) {
            status = statusCode
          },
          onResponseData: () => undefined,
          onResponseEnd: () => {
            if (status !== 200) return reject(new Error(`status ${status}`))
            this.#answered++
            this.#onAnswer?.(job.n)
            resolve()
          },
          onResponseError: (_, error) => reject(error)
        }
      )
    })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
