/**
 * graphile-worker as a contender. See `peers/README.md`.
 */
import { Logger, makeWorkerUtils, run } from "graphile-worker"
import pg from "pg"
import { openRequests } from "../../harness/Workload.ts"
import type { Contender } from "../Contender.ts"
import type { Job } from "../SignedPost.ts"
import { jobOf, retries, SignedPost } from "../SignedPost.ts"

const task = "deliver"

const quiet = new Logger(() => () => undefined)

const isJob = (payload: unknown): payload is Job => typeof payload === "object" && payload !== null && "body" in payload

export const contender: Contender = {
  title: "graphile-worker",
  storage: "postgres",
  batch: 500,
  publishers: 4,
  open: async (place) => {
    const post = new SignedPost(place)
    const pgPool = new pg.Pool({ connectionString: place.storage, max: 20 })
    const report = (error: Error): void => void process.stderr.write(`${String(error)}\n`)
    pgPool.on("error", report)
    pgPool.on("connect", (client) => client.on("error", report))
    const utils = await makeWorkerUtils({ pgPool, logger: quiet })
    await utils.migrate()
    let published = 0
    const runner = await run({
      pgPool,
      logger: quiet,
      noHandleSignals: true,
      taskList: {
        [task]: async (payload) => {
          if (isJob(payload)) await post.send(payload)
        }
      },
      preset: {
        worker: {
          concurrentJobs: openRequests,
          localQueue: { size: 500 },
          completeJobBatchDelay: 100,
          failJobBatchDelay: 100
        }
      }
    })
    return {
      publish: async (numbers) => {
        const [only] = numbers
        if (numbers.length === 1 && only !== undefined) {
          await utils.addJob(task, jobOf(only), { maxAttempts: retries.attempts })
        } else {
          await utils.addJobs(
            numbers.map((n) => ({ identifier: task, payload: jobOf(n), maxAttempts: retries.attempts }))
          )
        }
        published += numbers.length
      },
      settled: async () => {
        if (post.answered < published) return 0
        const { rows } = await pgPool.query<{ left: number }>(
          "SELECT count(*)::int AS left FROM graphile_worker._private_jobs"
        )
        return published - (rows[0]?.left ?? 0)
      },
      close: async () => {
        await runner.stop()
        await utils.release()
        await pgPool.end()
        await post.close()
      }
    }
  }
}
