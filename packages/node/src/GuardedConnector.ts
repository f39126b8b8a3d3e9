/**
 * Opens connections only to addresses that the address policy allows.
 *
 * A name is resolved once and all its addresses are checked. If one address is refused, the name is refused. The
 * connection uses only checked addresses, so a later answer of a name server has no effect. The peer of a connection is
 * checked again before anything is sent, because connecting to some addresses (0.0.0.0) reaches another address.
 */
import { AddressPolicy } from "@doorhook/core"
import { Effect } from "effect"
import { connect, isIP, isIPv6 } from "node:net"
import type { LookupFunction, Socket } from "node:net"
import * as tls from "node:tls"
import { buildConnector } from "undici"
import * as EgressProxy from "./EgressProxy.ts"
import type { NameLookup } from "./NameLookup.ts"
import { ofBlocked, ofConnecting, ofGone, ofHandshake, ofLookup } from "./TransportFailure.ts"
import type { Stage, TransportFailure } from "./TransportFailure.ts"

/** Dependencies shared by all connections. */
export interface Ways {
  readonly lookup: NameLookup
  readonly proxy: EgressProxy.EgressProxy | null
  /** Tracks how often the proxy hangs up. */
  readonly hangUps: EgressProxy.HangUps
  /** Trusted authorities, in PEM; undefined means Node's authorities. */
  readonly ca: Array<string> | undefined
  /** Makes TLS connections. Shared, because its stored sessions shorten later handshakes. */
  readonly secure: buildConnector.connector
}

/** Makes the shared dependencies. `authorities`, in PEM, are trusted in addition to Node's own. */
export const makeWays = (
  lookup: NameLookup,
  proxy: EgressProxy.EgressProxy | null,
  authorities: ReadonlyArray<string>
): Ways => {
  const ca = authorities.length === 0 ? undefined : [...tls.getCACertificates("default"), ...authorities]
  // The caller sets the time limit. HTTP/2 is off, because deliveries need only one request at a time and HTTP/2 can
  // fail in many more ways.
  const make = () =>
    buildConnector({
      timeout: 0,
      allowH2: false,
      ...(ca === undefined ? {} : { secureContext: tls.createSecureContext({ ca }) })
    })
  // Created at the first TLS connection, because reading all authorities takes longer than a handshake.
  let made: buildConnector.connector | undefined
  return { lookup, proxy, hangUps: new EgressProxy.HangUps(), ca, secure: (to, done) => (made ??= make())(to, done) }
}

/** Idle time after which TCP probes the peer, in milliseconds. */
const keepAliveProbe = 60_000

const resolve = (
  host: string,
  lookup: NameLookup,
  client: string,
  at: (stage: Stage) => void
): Effect.Effect<ReadonlyArray<string>, TransportFailure> =>
  isIP(host) === 0
    ? Effect.tryPromise({
        try: () => lookup(host, { client, onWait: () => at("queue") }),
        catch: (error) => ofLookup(host, error)
      }).pipe(
        Effect.filterOrFail(
          (addresses) => addresses.length > 0,
          () => ofLookup(host, null)
        )
      )
    : Effect.succeed([host])

const judge = (
  host: string,
  addresses: ReadonlyArray<string>,
  allow: AddressPolicy.AllowList
): Effect.Effect<void, TransportFailure> => {
  const bad = addresses.find((address) => !AddressPolicy.isAllowedAddress(address, allow))
  return bad === undefined ? Effect.void : Effect.fail(ofBlocked(host, bad))
}

/** Makes a lookup function that always returns the checked addresses. */
const pinned =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_, options, callback) => {
    const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
    const [first] = all
    if (options.all === true || first === undefined) callback(null, all)
    else callback(null, first.address, first.family)
  }

const placeOf = (address: string, port: number): string =>
  isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`

/**
 * Returns how long to try one of several addresses, in milliseconds. The time is 1.5 s, enough for TCP's first
 * retransmission, but at most a quarter of the deadline, to leave time for the other addresses. Node's default of 250
 * ms would exclude distant receivers.
 */
const patienceWithin = (deadline: number): number => Math.max(1, Math.floor(Math.min(1_500, deadline / 4)))

const openDirect = (host: string, addresses: ReadonlyArray<string>, port: number, deadline: number) =>
  Effect.callback<Socket, TransportFailure>((resume) => {
    const socket = connect({
      host,
      port,
      lookup: pinned(addresses),
      autoSelectFamilyAttemptTimeout: patienceWithin(deadline)
    })
    socket.once("connect", () => resume(Effect.succeed(socket)))
    socket.on("error", (error) => {
      const places = addresses.map((address) => placeOf(address, port))
      resume(Effect.fail(ofConnecting(places, error)))
    })
    return Effect.sync(() => socket.destroy())
  })

/** Checks the connected peer. Fails for a closed connection, which has no peer. */
const judgePeer = (host: string, { remoteAddress }: Socket, allow: AddressPolicy.AllowList) =>
  remoteAddress === undefined ? Effect.fail(ofGone()) : judge(host, [remoteAddress], allow)

/** Opens a tunnel to one of the addresses. Tries the next address if the proxy could not connect to one. */
const openTunnel = (
  proxy: EgressProxy.EgressProxy,
  { ca, hangUps }: Pick<Ways, "ca" | "hangUps">,
  { host, client }: Pick<EgressProxy.Target, "host" | "client">,
  [first = "", ...others]: ReadonlyArray<string>,
  port: number,
  at: (stage: Stage) => void
): Effect.Effect<Socket, TransportFailure> =>
  Effect.suspend(() => {
    at("proxy")
    const target = { host, client, place: placeOf(first, port) }
    return EgressProxy.tunnel(proxy, hangUps, ca, target, () => at("tunnel"))
  }).pipe(
    Effect.catchTag("AttemptFailure", (failure) =>
      others.length === 0
        ? Effect.fail(failure)
        : openTunnel(proxy, { ca, hangUps }, { host, client }, others, port, at)
    )
  )

/** Returns the server name for TLS, without a trailing dot (RFC 6066 section 3); empty for an address. */
const serverNameOf = (host: string): string => (isIP(host) === 0 ? host.replace(/\.$/, "") : "")

const makeSecure = (secure: buildConnector.connector, to: buildConnector.Options, httpSocket: Socket) =>
  Effect.callback<Socket, TransportFailure>((resume) => {
    secure({ ...to, httpSocket }, (...[error, socket]) => {
      resume(error === null ? Effect.succeed(socket) : Effect.fail(ofHandshake(error)))
    })
  })

/** The request that needs a connection. */
export interface Purpose {
  readonly allow: AddressPolicy.AllowList
  /** Length of the request's deadline, in milliseconds. */
  readonly deadline: number
  /** The client that created the integration. */
  readonly client: string
}

/** Opens a connection for undici. Calls `at` with each stage. Interrupting closes the connection. */
export const open = Effect.fnUntraced(function* (
  ways: Ways,
  { allow, client, deadline }: Purpose,
  to: buildConnector.Options,
  at: (stage: Stage) => void
): Effect.fn.Return<Socket, TransportFailure> {
  const { hostname: host, protocol } = to
  const isSecure = protocol === "https:"
  const port = Number(to.port === "" ? (isSecure ? 443 : 80) : to.port)
  at("name")
  const addresses = yield* resolve(host, ways.lookup, client, at)
  yield* judge(host, addresses, allow)
  const proxy = ways.proxy !== null && EgressProxy.isDirect(ways.proxy, host, addresses) ? null : ways.proxy
  if (proxy === null) at("connection")
  const plain = yield* proxy === null
    ? openDirect(host, addresses, port, deadline)
    : openTunnel(proxy, ways, { host, client }, addresses, port, at)
  return yield* Effect.gen(function* () {
    if (proxy === null) yield* judgePeer(host, plain, allow)
    plain.setNoDelay(true).setKeepAlive(true, keepAliveProbe)
    if (isSecure) at("handshake")
    const socket = isSecure ? yield* makeSecure(ways.secure, { ...to, servername: serverNameOf(host) }, plain) : plain
    // undici would retry forever if it got a socket that has just closed.
    return socket.destroyed ? yield* ofGone() : socket
  }).pipe(Effect.onError(() => Effect.sync(() => plain.destroy())))
})
