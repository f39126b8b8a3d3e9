/**
 * The clocks of processes on one PostgreSQL database are moved: ahead, behind, and back and forth.
 */
import { Effect } from "effect"
import { canMoveClocks } from "@doorhook/testkit/MovedClock"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { live } from "../harness/Embedded.ts"
import { underMovedClocks } from "../harness/MovedClocks.ts"

const name = "doorhook while clocks of its processes are moved"

if (canMoveClocks(name))
  await describeOnPostgres(name, (server) => {
    for (const offset of [17_000, -30_000, 60_000, -300_000])
      live(`delivers each event once while a clock is moved by ${offset} ms`, function* () {
        yield* underMovedClocks(server, ([wrong], load) =>
          Effect.gen(function* () {
            wrong.clock.move(offset)
            // Longer than the lease.
            yield* Effect.promise(() => load.more(1_200))
          })
        )
      })

    live("delivers each event once while all clocks jump by 25 s, ahead and back", function* () {
      yield* underMovedClocks(server, (hosts, load) =>
        Effect.forEach([0, 1, 2, 0, 1, 2, 0, 1], (moved, n) =>
          Effect.suspend(() => {
            hosts[moved]?.clock.move(n % 2 === 0 ? 25_000 : -25_000)
            return Effect.promise(() => load.more(150))
          })
        )
      )
    })
  })
