/**
 * BullMQ as a contender. See `peers/README.md`.
 */
import { Queue, Worker } from "bullmq"
import { createClient } from "redis"
import { openRequests } from "../../harness/Workload.ts"
import type { Contender, Place, Session } from "../Contender.ts"
import type { Job } from "../SignedPost.ts"
import { jobOf, retries, SignedPost } from "../SignedPost.ts"

const jobOptions = {
  attempts: retries.attempts,
  backoff: { type: "exponential", delay: retries.firstDelay },
  // Finished jobs are removed, which is the cheapest setting.
  removeOnComplete: true
}

const open = async (place: Place): Promise<Session> => {
  let settled = 0
  const post = new SignedPost(place)
  const clients = [createClient({ url: place.storage }), createClient({ url: place.storage })] as const
  const queue = new Queue<Job>("deliveries", { connection: clients[0] })
  const worker = new Worker<Job>("deliveries", ({ data }) => post.send(data), {
    connection: clients[1],
    concurrency: openRequests
  })
  worker.on("completed", () => settled++)
  worker.on("error", (error) => process.stderr.write(`${String(error)}\n`))
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    publish: async (numbers) => {
      const [only] = numbers
      if (numbers.length === 1 && only !== undefined) await queue.add("deliver", jobOf(only), jobOptions)
      else await queue.addBulk(numbers.map((n) => ({ name: "deliver", data: jobOf(n), opts: jobOptions })))
    },
    settled: () => Promise.resolve(settled),
    close: async () => {
      await worker.close()
      await queue.close()
      // BullMQ does not close clients that were passed to it.
      for (const client of clients) if (client.isOpen) client.destroy()
      await post.close()
    }
  }
}

export const contender: Contender = {
  title: "BullMQ, appendfsync always",
  storage: "redis",
  batch: 500,
  publishers: 4,
  open
}
