/**
 * The clocks of processes on one PostgreSQL database are moved: ahead, behind, and back and forth.
 */
import { Effect } from "effect"
import { canMoveClocks } from "@doorhook/testkit/MovedClock"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { sample } from "@doorhook/testkit/Sample"
import { live } from "../harness/Embedded.ts"
import { underMovedClocks } from "../harness/MovedClocks.ts"

const name = "doorhook while clocks of its processes are moved"

if (canMoveClocks(name))
  await describeOnPostgres(name, (server) => {
    live("delivers each event once while clocks are moved: one by seconds or minutes, then all by 25 s", function* () {
      yield* underMovedClocks(server, (hosts, load) =>
        Effect.gen(function* () {
          for (const offset of sample([8_000, -30_000, 60_000, -300_000], 2)) {
            hosts[0].clock.move(offset)
            // Longer than the lease.
            yield* Effect.promise(() => load.more(450))
          }
          hosts[0].clock.move(0)
          for (const [n, moved] of [0, 1, 2, 0, 1, 2, 0, 1].entries()) {
            hosts[moved]?.clock.move(n % 2 === 0 ? 25_000 : -25_000)
            yield* Effect.promise(() => load.more(50))
          }
        })
      )
    })
  })
