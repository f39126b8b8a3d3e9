/**
 * The clock of one of three processes is wrong. Deliveries follow PostgreSQL's clock, and operators hear of it.
 */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { canMoveClocks } from "@doorhook/testkit/MovedClock"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { metricsOf, readinessOf } from "../harness/Accounting.ts"
import { live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { underMovedClocks } from "../harness/MovedClocks.ts"
import { callApi } from "../harness/ThirdParty.ts"

const Page = Schema.Struct({
  notifications: Schema.Array(Schema.Struct({ kind: Schema.String, ahead_ms: Schema.optionalKey(Schema.Finite) }))
})

const offsetsIn = (url: string) =>
  Effect.promise(async () => {
    const answer = await callApi(url, operatorKey, "GET", "/operator/notifications")
    const { notifications } = Schema.decodeUnknownSync(Page)(await answer.json())
    return notifications.flatMap(({ ahead_ms, kind }) => (kind === "clock_offset" ? [ahead_ms ?? 0] : []))
  })

const name = "doorhook while the clock of one process is wrong"

if (canMoveClocks(name))
  await describeOnPostgres(name, (server) => {
    live(
      "delivers each event once while the clock is 300 s ahead, and reports that offset, but not an offset of 1 s",
      function* () {
        yield* underMovedClocks(server, ([wrong, right], load) =>
          Effect.gen(function* () {
            const offset = Effect.map(metricsOf(wrong.url), (read) => read["doorhook_clock_offset_seconds"] ?? 0)
            wrong.clock.move(1_000)
            yield* eventually("the small offset is measured", offset, (seconds) => seconds > 0.8)
            assert.strictEqual((yield* readinessOf(wrong.url)).status, "ready")
            yield* Effect.promise(() => load.more(100))
            assert.deepStrictEqual(yield* offsetsIn(wrong.url), [])
            assert.notMatch(wrong.stderr(), /clock of/)

            wrong.clock.move(300_000)
            yield* eventually("the offset is measured", offset, (seconds) => Math.abs(seconds - 300) < 2)
            const { code, detail, status } = yield* readinessOf(wrong.url)
            assert.deepStrictEqual([code, status], [200, "clock"])
            assert.match(detail ?? "", /^This machine's clock is 5m ahead of the database server's\./)
            const [ahead = 0, ...others] = yield* eventually(
              "a notification",
              offsetsIn(right.url),
              (all) => all.length > 0
            )
            assert.closeTo(ahead, 300_000, 2_000)
            yield* Effect.promise(() => load.more(300))
            assert.deepStrictEqual(others, [])
            assert.match(wrong.stderr(), /The clock of \S+ is 5m ahead of the database server's/)
            assert.strictEqual((yield* readinessOf(right.url)).status, "ready")
          })
        )
      }
    )
  })
