/**
 * One run at a time against one receiver: two would restart it under each other's hands, and charge it with that.
 *
 * A run listens at a local socket that is named after the URL, and says there which process it is. The system closes that
 * with the process, however it ends. It keeps runs of one machine apart; others are seen by the events they send, as far
 * as the probe shows them (`Strangers.ts`).
 */
import { UrlPolicy } from "@doorhook/core"
import { Clock, Data, Effect, Predicate } from "effect"
import type { Scope } from "effect"
import { rm } from "node:fs/promises"
import { connect, createServer } from "node:net"
import type { Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hashOf } from "../history/Json.ts"
import { portOf } from "../PortOf.ts"

/** How often one that waits looks whether the other has ended, and how long that may take to say who it is, in milliseconds. */
const step = 200
const answerPatience = 1_000

/** Another run has the receiver, and does not let go of it. */
export class ReceiverTaken extends Data.TaggedError("ReceiverTaken")<{ readonly message: string }> {}

/** All names of this machine are one. */
const hostOf = (url: URL): string => {
  const host = UrlPolicy.hostOf(url).toLowerCase()
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|::1|0\.0\.0\.0|::)$/.test(host) ? "localhost" : host
}

/** Linux has sockets that are no files. Before Node.js 20 all names of such are one. */
const hasAbstract = process.platform === "linux" && Number.parseInt(process.versions.node, 10) >= 20

/** The socket that stands for a URL: its query may differ, and its scheme. Only where it is a file can it outlive a process. */
export const socketOf = (url: URL): string => {
  const key = hashOf("sha256", `${hostOf(url)}:${portOf(url)}${url.pathname}`).slice(0, 16)
  const name = `doorhook-conformance-${key}`
  if (hasAbstract) return `\0${name}`
  return process.platform === "win32" ? String.raw`\\.\pipe\${name}` : join(tmpdir(), `${name}.sock`)
}

const codeOf = (error: unknown): unknown => (Predicate.hasProperty(error, "code") ? error.code : null)

/** Listens at a socket until the scope is closed. */
const listen = (socket: string): Effect.Effect<Server, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server, Error>((resume) => {
      const holder = `process ${process.pid}, since ${new Date().toISOString()}`
      const server = createServer((asking) => asking.on("error", () => undefined).end(holder)).unref()
      server.on("error", (error) => resume(Effect.fail(error)))
      server.listen(socket, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

/** Who listens at a socket. Fails where nobody does. */
const holderOf = (socket: string): Effect.Effect<string, Error> =>
  Effect.callback<string, Error>((resume) => {
    let said = ""
    const asking = connect(socket)
    asking.on("error", (error) => resume(Effect.fail(error)))
    asking.on("data", (chunk) => (said += String(chunk)))
    asking.on("end", () => resume(Effect.succeed(said)))
    return Effect.sync(() => asking.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: answerPatience, orElse: () => Effect.succeed("another process") }))

/** Listens at a socket; null where it does, or where sockets can't be made, which keeps nobody from testing. */
const listenOr = (socket: string, taken: Effect.Effect<string | null, never, Scope.Scope>) =>
  listen(socket).pipe(
    Effect.as(null),
    Effect.catch((error) => (codeOf(error) === "EADDRINUSE" ? taken : Effect.succeed(null)))
  )

/** Takes a socket; who has it instead, null where it was taken. A file that an ended process left is put away. */
const take = (socket: string): Effect.Effect<string | null, never, Scope.Scope> =>
  listenOr(
    socket,
    Effect.catch(holderOf(socket), () =>
      Effect.ignore(Effect.tryPromise(() => rm(socket))).pipe(
        Effect.andThen(listenOr(socket, Effect.succeed("another process")))
      )
    )
  )

type Announce = (message: string) => Effect.Effect<void>

/** Waits for a socket, and takes it. */
const claimOne = Effect.fnUntraced(function* (
  url: URL,
  patience: number,
  announce: Announce
): Effect.fn.Return<void, ReceiverTaken, Scope.Scope> {
  const shown = UrlPolicy.shownUrl(url)
  const seconds = Math.round(patience / 1_000)
  const begun = yield* Clock.currentTimeMillis
  let announced = false
  while (true) {
    const holder = yield* take(socketOf(url))
    if (holder === null) return
    if ((yield* Clock.currentTimeMillis) - begun >= patience) {
      return yield* new ReceiverTaken({
        message: `Another run still tests ${shown} (${holder}), after ${seconds} s. Two at once would disturb each other: end that one, or run this one later.`
      })
    }
    if (!announced) {
      yield* announce(
        `Another run tests ${shown} (${holder}). This one begins when that has ended, and waits for up to ${seconds} s.`
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
  const inOrder = [...new Map(urls.map((url) => [socketOf(url), url]))].toSorted(([a], [b]) => a.localeCompare(b))
  return Effect.forEach(inOrder, ([, url]) => claimOne(url, patience, announce), { discard: true })
}
