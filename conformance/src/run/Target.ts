/**
 * The receiver under test: checks that the suite may send to it and that something listens there, and lets only one run
 * on this machine use it at a time.
 *
 * The suite sends many events that look real. It sends them only to this machine and private networks, unless
 * `--i-own-this-target` confirms that the receiver is the user's own.
 *
 * To keep runs on one machine apart, each run listens at a local socket that is named after the URL, and answers with
 * its process id. The operating system closes the socket when the process ends.
 */
import { codeOf, AddressPolicy, CommandFailure, english, NameResolver, UrlPolicy } from "@doorhook/core"
import { Clock, Data, Effect, Layer, Option, Result } from "effect"
import type { Scope } from "effect"
import { lookup } from "node:dns/promises"
import { rm } from "node:fs/promises"
import { connect, createServer } from "node:net"
import type { Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TargetUnusable } from "../execution/Send.ts"
import { hashOf } from "../history/Json.ts"
import { accepts, portOf } from "../http/Ask.ts"

const networks = (...texts: ReadonlyArray<string>): AddressPolicy.AllowList =>
  texts.flatMap((text) => Option.toArray(AddressPolicy.parseNetwork(text)))

/** Loopback and private networks, and the unspecified addresses (`0.0.0.0`, `::`), which mean this machine. */
const local = networks(
  "127.0.0.0/8",
  "::1/128",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "fc00::/7",
  "0.0.0.0/32",
  "::/128"
)

const everywhere = networks("0.0.0.0/0", "::/0")

/** Whether an address is local: allowed only because of the list above. */
export const isLocal = (address: string): boolean =>
  AddressPolicy.isAllowedAddress(address, local) && !AddressPolicy.isAllowedAddress(address, [])

/** The system's resolver. */
export const systemNames: Layer.Layer<NameResolver> = Layer.succeed(NameResolver, {
  addresses: (host) =>
    Effect.tryPromise(() => lookup(host, { all: true })).pipe(
      Effect.map((found) => found.map(({ address }) => address)),
      Effect.timeout("5 seconds"),
      // A failed lookup means no address.
      Effect.orElseSucceed(() => [])
    )
})

/** Reads the URL of a receiver. */
export const parse = (text: string): Result.Result<URL, CommandFailure> => {
  const flaw = UrlPolicy.hiddenQueryFlaw(text)
  return flaw === null
    ? Result.mapError(UrlPolicy.check(text, everywhere), ({ said }) => CommandFailure.usage(`--url: ${english(said)}`))
    : Result.fail(CommandFailure.usage(`--url ${text}: ${flaw}`))
}

/** Whether a name has no meaning outside a machine or network: it has no dot, or is a special-use name (RFC 6761). */
const isPrivateName = (host: string): boolean =>
  !host.includes(".") || /\.(?:localhost|local|lan|internal|home\.arpa|test|invalid|example)$/i.test(host)

/** Fails unless the receiver is local or the user declares it as their own. */
export const authorize = Effect.fnUntraced(function* (
  url: URL,
  owned: boolean
): Effect.fn.Return<void, CommandFailure | TargetUnusable, NameResolver> {
  const resolver = yield* NameResolver
  const host = UrlPolicy.hostOf(url)
  const addresses = UrlPolicy.isAddressLiteral(host) ? [host] : yield* resolver.addresses(host, "conformance")
  if (addresses.length === 0 && (owned || isPrivateName(host))) {
    return yield* new TargetUnusable({
      message: `${host} has no address: the name could not be resolved. Correct --url.`
    })
  }
  // A public name that does not resolve now also counts as foreign.
  const foreign = addresses.length === 0 ? "unresolved" : addresses.find((address) => !isLocal(address))
  if (foreign === undefined || owned) return
  const where = foreign === host ? foreign : `${host} (${foreign})`
  return yield* CommandFailure.usage(
    `${where} is not a loopback or private address, and the suite sends events that look real. If the receiver is yours, add --i-own-this-target.`
  )
})

/** Fails unless something accepts connections at a URL. */
export const reach = (url: URL, limit: number): Effect.Effect<void, TargetUnusable> =>
  accepts(url).pipe(
    Effect.timeout(limit),
    Effect.mapError(
      (error) =>
        new TargetUnusable({
          message: `Nothing accepts connections at ${url.origin} (${error.message === "" ? "connection refused" : error.message}). Start the receiver, or correct --url.`
        })
    )
  )

/**
 * Milliseconds between checks whether the other run has ended, and maximum milliseconds for its process to identify
 * itself.
 */
const step = 200
const answerPatience = 1_000

/** The error when another run still uses the receiver. */
export class ReceiverTaken extends Data.TaggedError("ReceiverTaken")<{ readonly message: string }> {}

/** Returns the host of a URL, with one name for all addresses of this machine. */
const hostOf = (url: URL): string => {
  const host = UrlPolicy.hostOf(url).toLowerCase()
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|::1|0\.0\.0\.0|::)$/.test(host) ? "localhost" : host
}

/** Linux has abstract sockets, which are not files. Node.js before 20 does not distinguish their names. */
const hasAbstract = process.platform === "linux" && Number.parseInt(process.versions.node, 10) >= 20

/**
 * Returns the socket for a URL. The scheme and the query don't matter. A socket that is a file can outlive its process.
 */
export const socketOf = (url: URL): string => {
  const key = hashOf("sha256", `${hostOf(url)}:${portOf(url)}${url.pathname}`).slice(0, 16)
  const name = `doorhook-conformance-${key}`
  if (hasAbstract) return `\0${name}`
  return process.platform === "win32" ? String.raw`\\.\pipe\${name}` : join(tmpdir(), `${name}.sock`)
}

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

/** Returns the run that listens at a socket. Fails if none does. */
const holderOf = (socket: string): Effect.Effect<string, Error> =>
  Effect.callback<string, Error>((resume) => {
    let said = ""
    const asking = connect(socket)
    asking.on("error", (error) => resume(Effect.fail(error)))
    asking.on("data", (chunk) => (said += String(chunk)))
    asking.on("end", () => resume(Effect.succeed(said)))
    return Effect.sync(() => asking.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: answerPatience, orElse: () => Effect.succeed("another process") }))

/**
 * Listens at a socket, or runs `taken` if another process already does. Returns null when listening, and also if no
 * socket can be made, because a run works without a socket.
 */
const listenOr = (socket: string, taken: Effect.Effect<string | null, never, Scope.Scope>) =>
  listen(socket).pipe(
    Effect.as(null),
    Effect.catch((error) => (codeOf(error) === "EADDRINUSE" ? taken : Effect.succeed(null)))
  )

/**
 * Claims a socket. Returns null on success, or else the run that already holds it. Removes a socket file that an ended
 * process left behind.
 */
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

/** Waits until the socket of a URL is free and takes it. */
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
        message: `After ${seconds} s, another run still tests ${shown} (${holder}). Two runs would disturb each other: end that run, or try again later.`
      })
    }
    if (!announced) {
      yield* announce(`Another run tests ${shown} (${holder}). This run waits up to ${seconds} s for that run to end.`)
    }
    announced = true
    yield* Effect.sleep(step)
  }
})

/**
 * Claims URLs for one run on this machine until the scope is closed. Waits up to `patience` milliseconds for another
 * run to end, and announces the wait.
 */
export const claim = (
  urls: ReadonlyArray<URL>,
  patience: number,
  announce: Announce
): Effect.Effect<void, ReceiverTaken, Scope.Scope> => {
  // Claims sockets in a fixed order, so two runs never wait for each other.
  const inOrder = [...new Map(urls.map((url) => [socketOf(url), url]))].toSorted(([a], [b]) => a.localeCompare(b))
  return Effect.forEach(inOrder, ([, url]) => claimOne(url, patience, announce), { discard: true })
}
