/**
 * Apps that embed doorhook on one PostgreSQL database, for tests of several processes.
 */
import type { Doorhook, DoorhookOptions } from "doorhook"
import { Effect } from "effect"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { hostPool } from "@doorhook/testkit/postgres/TestServer"
import type { Receiver } from "@doorhook/testkit/Receiver"
import { directory as functions, event, integrate, mount, start } from "./Embedded.ts"
import { eventually } from "./Eventually.ts"

const sqlEvent = JSON.stringify(event)

/** Publishes in SQL, as a host's transaction does. */
export const publishInSql = (database: string, text = sqlEvent) =>
  Effect.gen(function* () {
    const pool = yield* hostPool(database)
    yield* Effect.promise(() => pool.query("SELECT * FROM doorhook.publish($1::text)", [text]))
  }).pipe(Effect.scoped)

/** An app whose right to building 1 the test can remove, with an integration. Its processes have ended. */
export const stoppedApp = Effect.fnUntraced(function* (database: string, receiver: Receiver) {
  let hasRight = true
  const options: DoorhookOptions = {
    database,
    operatorKey,
    logger: false,
    allowTargets: ["127.0.0.0/8"],
    directory: { ...functions, administers: (user, building) => hasRight && user === "admin" && building === 1 }
  }
  yield* Effect.scoped(
    Effect.gen(function* () {
      const app = yield* start(options)
      yield* integrate((yield* mount(app)).url, receiver.url)
    })
  )
  return { options, removeRight: () => (hasRight = false) }
})

export const listed = (doorhook: Doorhook) =>
  Effect.map(
    Effect.promise(() => doorhook.deliveries.list()),
    ({ deliveries }) => deliveries.map(({ attempts, state }) => ({ attempts, state }))
  )

export const untilDelivered = (doorhook: Doorhook, count: number) =>
  eventually(
    `${count} are delivered`,
    listed(doorhook),
    (all) => all.filter(({ state }) => state === "delivered").length === count
  )

/** Starts an embedded doorhook that can be closed within the test, and collects its log. */
export const startApp = Effect.fnUntraced(function* (options: Partial<DoorhookOptions>) {
  const lines: Array<string> = []
  const add = (line: string): unknown => lines.push(line)
  const doorhook = yield* start({ operatorKey, logger: { info: add, warn: add, error: add }, ...options })
  const logs = (pattern: RegExp) =>
    eventually(
      `it logs ${String(pattern)}`,
      Effect.sync(() => lines.join("\n")),
      (text) => pattern.test(text)
    )
  return { doorhook, logs }
})

export const readiness = (doorhook: Doorhook) =>
  Effect.promise(async () => {
    const answer = await doorhook.fetch(new Request("http://localhost/health/ready"))
    return { code: answer.status, text: await answer.text() }
  })
