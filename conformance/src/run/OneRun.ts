/**
 * One run at a time against one receiver: two would restart it under each other's hands, and charge it with that.
 *
 * A run holds a file in the temporary folder, named after the URL, with its process's number in it. One whose process has
 * ended, or that has not been touched for a while, is taken over. It keeps runs of one machine apart; others are seen by
 * the events they send, as far as the probe shows them (`Strangers.ts`).
 */
import { UrlPolicy } from "@doorhook/core"
import { Clock, Data, Effect, Predicate, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { hash } from "node:crypto"
import { readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { portOf } from "../PortOf.ts"

/** How often one that waits looks whether the other has ended, in milliseconds. */
const step = 200
/** How often a file is touched, and after how long without that nobody holds it, in milliseconds. */
const touchEvery = 5_000
const abandonedAfter = 60_000

const Holder = Schema.fromJsonString(Schema.Struct({ pid: Schema.Int, since: Schema.String }))
type Holder = typeof Holder.Type

/** Another run has the receiver, and does not let go of it. */
export class ReceiverTaken extends Data.TaggedError("ReceiverTaken")<{ readonly message: string }> {}

/** All names of this machine are one. */
const hostOf = (url: URL): string => {
  const host = UrlPolicy.hostOf(url).toLowerCase()
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|::1|0\.0\.0\.0|::)$/.test(host) ? "localhost" : host
}

/** The file that stands for a URL: its query may differ, and its scheme. */
export const fileOf = (url: URL): string =>
  join(
    tmpdir(),
    `doorhook-conformance-${hash("sha256", `${hostOf(url)}:${portOf(url)}${url.pathname}`).slice(0, 16)}.pid`
  )

const hasCode = (error: unknown, code: string): boolean => Predicate.hasProperty(error, "code") && error.code === code

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return hasCode(error, "EPERM")
  }
}

/** The files that this process holds: what an earlier process of the same number left is not among them. */
const held = new Set<string>()

/** Who holds a file; null where nobody does, or it can't be read. */
const holderOf = async (file: string): Promise<Holder | null> => {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(file, "utf8"), stat(file)])
    const holder = Schema.decodeSync(Holder)(text)
    const isLive = holder.pid === process.pid ? held.has(file) : isAlive(holder.pid)
    return isLive && Date.now() - mtimeMs < abandonedAfter ? holder : null
  } catch {
    return null
  }
}

/** Puts a file away that nobody holds. One that another run has just made is put back. */
const putAway = async (file: string): Promise<void> => {
  const aside = `${file}.${process.pid}`
  try {
    await rename(file, aside)
    if ((await holderOf(aside)) === null) await rm(aside, { force: true })
    else await rename(aside, file)
  } catch (error) {
    // Another run was quicker.
    if (!hasCode(error, "ENOENT")) throw error
  }
}

type Taken = "mine" | "unlockable" | { readonly holder: Holder | null }

/** Takes a file. A temporary folder that keeps no files, or another user's file in it, keeps nobody from testing. */
const take = async (file: string, since: string): Promise<Taken> => {
  const make = () => writeFile(file, JSON.stringify({ pid: process.pid, since }), { flag: "wx" })
  try {
    try {
      await make()
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error
      const holder = await holderOf(file)
      if (holder !== null) return { holder }
      await putAway(file)
      await make()
    }
    held.add(file)
    return "mine"
  } catch (error) {
    return hasCode(error, "EEXIST") ? { holder: await holderOf(file) } : "unlockable"
  }
}

const release = (file: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    held.delete(file)
    await rm(file, { force: true }).catch(() => undefined)
  })

/** Shows that the run goes on. A file that is gone is missed by nobody but this. */
const touch = (file: string): Effect.Effect<void> =>
  Effect.promise(() => utimes(file, new Date(), new Date()).catch(() => undefined)).pipe(
    Effect.repeat(Schedule.spaced(touchEvery)),
    Effect.asVoid
  )

const nameOf = (holder: Holder | null): string =>
  holder === null ? "another process" : `process ${holder.pid}, since ${holder.since}`

type Announce = (message: string) => Effect.Effect<void>

/** Waits for a file; the file where it was taken, null where none can be. */
const claimOne = Effect.fnUntraced(function* (
  url: URL,
  patience: number,
  announce: Announce
): Effect.fn.Return<string | null, ReceiverTaken> {
  const file = fileOf(url)
  const shown = UrlPolicy.shownUrl(url)
  const seconds = Math.round(patience / 1_000)
  const begun = yield* Clock.currentTimeMillis
  let announced = false
  while (true) {
    const taken = yield* Effect.promise(() => take(file, new Date(begun).toISOString()))
    if (taken === "mine") return file
    if (taken === "unlockable") return null
    if ((yield* Clock.currentTimeMillis) - begun >= patience) {
      return yield* new ReceiverTaken({
        message: `Another run still tests ${shown} (${nameOf(taken.holder)}), after ${seconds} s. Two at once would disturb each other: end that one, or run this one later.`
      })
    }
    if (!announced) {
      yield* announce(
        `Another run tests ${shown} (${nameOf(taken.holder)}). This one begins when that has ended, and waits for up to ${seconds} s.`
      )
    }
    announced = true
    yield* Effect.sleep(step)
  }
})

/**
 * Keeps other runs of this machine from URLs until the scope is closed. Waits this many milliseconds for one that is there
 * already, and says so.
 */
export const claim = (
  urls: ReadonlyArray<URL>,
  patience: number,
  announce: Announce
): Effect.Effect<void, ReceiverTaken, Scope.Scope> => {
  // In one order, so that no two runs wait for each other.
  const inOrder = [...new Map(urls.map((url) => [fileOf(url), url]))].toSorted(([a], [b]) => a.localeCompare(b))
  return Effect.forEach(
    inOrder,
    Effect.fnUntraced(function* ([, url]) {
      const file = yield* Effect.acquireRelease(
        claimOne(url, patience, announce),
        (taken) => (taken === null ? Effect.void : release(taken)),
        { interruptible: true }
      )
      if (file !== null) yield* Effect.forkScoped(touch(file))
    }),
    { discard: true }
  )
}
