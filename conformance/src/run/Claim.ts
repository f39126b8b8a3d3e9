/**
 * One run at a time against one receiver: two would restart it under each other's hands, and charge it with that.
 *
 * Whoever tests a URL holds a lock of SQLite's on a small file in the temporary folder, named after the URL. It ends with
 * its process, however that ends. It keeps runs of one machine apart; others are seen by the events they send, as far as
 * the probe shows them (`executor/Strangers.ts`).
 */
import { UrlPolicy } from "@doorhook/core"
import { Clock, Data, Effect, Predicate, Schema } from "effect"
import type { Scope } from "effect"
import { hash } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { portOf } from "../PortOf.ts"

/** How often one that waits looks whether the other has ended, in milliseconds. */
const step = 200

const Holder = Schema.Struct({ pid: Schema.Int, since: Schema.String })
type Holder = typeof Holder.Type

/** Somebody else tests the receiver; who, if they had the time to say so. */
class Taken extends Data.TaggedError("Taken")<{ readonly holder: Holder | null }> {}

/** Nothing can be locked here. */
class NoLock extends Data.TaggedError("NoLock") {}

/** Another run has the receiver, and does not let go of it. */
export class ReceiverTaken extends Data.TaggedError("ReceiverTaken")<{ readonly message: string }> {}

/** All names of this machine are one. */
const hostOf = (url: URL): string => {
  const host = UrlPolicy.hostOf(url).toLowerCase()
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|::1|0\.0\.0\.0|::)$/.test(host) ? "localhost" : host
}

/** The file that stands for a URL: its query may differ, and its scheme. */
const fileOf = (url: URL): string =>
  join(
    tmpdir(),
    `doorhook-conformance-${hash("sha256", `${hostOf(url)}:${portOf(url)}${url.pathname}`).slice(0, 16)}.lock`
  )

/** SQLITE_BUSY: another connection holds the lock. */
const isBusy = (error: unknown): boolean =>
  Predicate.hasProperty(error, "errcode") && Predicate.isNumber(error.errcode) && (error.errcode & 0xff) === 5

/** Who has left word in the file; null while that can't be read. */
const holderIn = (lock: DatabaseSync): Holder | null => {
  try {
    const { pid, since } = lock.prepare("SELECT pid, since FROM holder").get() ?? {}
    const holder = { pid, since }
    return Schema.is(Holder)(holder) ? holder : null
  } catch {
    return null
  }
}

/** Takes the lock and leaves word of who has it; others may read that as long as nobody writes. */
const take = Effect.fnUntraced(function* (file: string, since: string) {
  const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
  return yield* Effect.try({
    try: () => {
      const lock = new DatabaseSync(file, { timeout: 0 })
      try {
        lock.exec("CREATE TABLE IF NOT EXISTS holder (pid INTEGER, since TEXT); BEGIN IMMEDIATE; DELETE FROM holder")
        lock.prepare("INSERT INTO holder VALUES (?, ?)").run(process.pid, since)
        lock.exec("COMMIT; BEGIN IMMEDIATE")
        return lock
      } catch (error) {
        const failure = isBusy(error) ? new Taken({ holder: holderIn(lock) }) : error
        lock.close()
        throw failure
      }
    },
    catch: (error) => (error instanceof Taken ? error : new NoLock())
    // A temporary folder that keeps no locks, or another user's file in it, keeps nobody from testing.
  }).pipe(Effect.catchTag("NoLock", () => Effect.succeed(null)))
})

const nameOf = (holder: Holder | null): string =>
  holder === null ? "another process" : `process ${holder.pid}, since ${holder.since}`

const claimOne = Effect.fnUntraced(function* (
  url: URL,
  patience: number,
  announce: (message: string) => Effect.Effect<void>
) {
  const file = fileOf(url)
  const begun = yield* Clock.currentTimeMillis
  const attempt = take(file, new Date(begun).toISOString())
  const seconds = Math.round(patience / 1_000)
  const wait = (told: boolean): Effect.Effect<DatabaseSync | null, ReceiverTaken> =>
    Effect.catchTag(
      attempt,
      "Taken",
      Effect.fnUntraced(function* ({ holder }) {
        if ((yield* Clock.currentTimeMillis) - begun >= patience) {
          return yield* new ReceiverTaken({
            message: `Another run still tests ${UrlPolicy.shownUrl(url)} (${nameOf(holder)}), after ${seconds} s. Two at once would disturb each other: end that one, or run this one later.`
          })
        }
        if (!told) {
          yield* announce(
            `Another run tests ${UrlPolicy.shownUrl(url)} (${nameOf(holder)}). This one begins when that has ended, and waits for up to ${seconds} s.`
          )
        }
        yield* Effect.sleep(step)
        return yield* wait(true)
      })
    )
  return yield* wait(false)
})

/**
 * Keeps other runs of this machine from URLs until the scope is closed. Waits so many milliseconds for one that is there
 * already, and says so.
 */
export const claim = (
  urls: ReadonlyArray<URL>,
  patience: number,
  announce: (message: string) => Effect.Effect<void>
): Effect.Effect<void, ReceiverTaken, Scope.Scope> => {
  // In one order, so that no two runs wait for each other.
  const inOrder = Array.from(new Map(urls.map((url) => [fileOf(url), url]))).toSorted(([a], [b]) => a.localeCompare(b))
  return Effect.forEach(
    inOrder,
    ([, url]) =>
      Effect.acquireRelease(claimOne(url, patience, announce), (lock) => Effect.sync(() => lock?.close()), {
        interruptible: true
      }),
    { discard: true }
  )
}
