/**
 * pg-boss as a contender. See `peers/README.md`.
 */
import { PgBoss } from "pg-boss"
import type { Contender } from "../Contender.ts"
import type { Job } from "../SignedPost.ts"
import { jobOf, retries, SignedPost } from "../SignedPost.ts"

const queue = "deliveries"

export const contender: Contender = {
  title: "pg-boss",
  storage: "postgres",
  batch: 500,
  publishers: 4,
  open: async (place) => {
    let published = 0
    const post = new SignedPost(place)
    const boss = new PgBoss({
      connectionString: place.storage,
      useListenNotify: true,
      max: 20,
      // On a busy machine, single publications wait for a connection. With a long timeout they are late, but do not
      // fail.
      connectionTimeoutMillis: 60_000
    })
    boss.on("error", (error) => process.stderr.write(`${String(error)}\n`))
    await boss.start()
    await boss.createQueue(queue, {
      partition: true,
      notify: true,
      retryLimit: retries.attempts - 1,
      retryDelay: retries.firstDelay / 1_000,
      retryBackoff: true
    })
    await boss.work<Job>(
      queue,
      { batchSize: 200, localConcurrency: 2, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
      async (jobs) => {
        await Promise.all(jobs.map(({ data }) => post.send(data)))
      }
    )
    return {
      publish: async (numbers) => {
        const [only] = numbers
        if (numbers.length === 1 && only !== undefined) await boss.send(queue, jobOf(only))
        else
          await boss.insert(
            queue,
            numbers.map((n) => ({ data: jobOf(n) }))
          )
        published += numbers.length
      },
      settled: async () => {
        if (post.answered < published) return 0
        const { rows } = await boss
          .getDb()
          .executeSql(`SELECT count(*)::int AS count FROM pgboss.job WHERE name = '${queue}' AND state = 'completed'`)
        return Number(rows[0].count)
      },
      close: async () => {
        await boss.stop({ graceful: true })
        await post.close()
      }
    }
  }
}
