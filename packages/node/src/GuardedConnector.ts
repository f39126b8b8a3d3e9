/**
 * Opens connections, only to addresses that the address policy allows.
 *
 * A name is looked up once, every answer is judged (one bad answer refuses the name), and the connection goes to the
 * answers that were judged: what a name server says a moment later changes nothing. The peer of a connection is judged
 * again before anything is sent, because some addresses (0.0.0.0) lead to others.
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
import type { TransportFailure } from "./TransportFailure.ts"

/**
 * What a request waits for while its connection is opened. `queue` is the look-up of its name, if it had to wait for others: until
 * the addresses are known.
 */
export type Stage = "queue" | "name" | "proxy" | "tunnel" | "connection" | "handshake"

/** How connections are opened, whichever they are. */
export interface Ways {
  readonly lookup: NameLookup
  readonly proxy: EgressProxy.EgressProxy | null
  /** What the proxy's hang-ups say of it. */
  readonly hangUps: EgressProxy.HangUps
  /** What certificates must be signed by, in PEM; undefined for what Node trusts. */
  readonly ca: Array<string> | undefined
  /** Makes a connection secure. One for all: it keeps the sessions that shorten the next handshake. */
  readonly secure: buildConnector.connector
}

/** `authorities`, in PEM, are trusted beside those that Node trusts. */
export const makeWays = (
  lookup: NameLookup,
  proxy: EgressProxy.EgressProxy | null,
  authorities: ReadonlyArray<string>
): Ways => {
  const ca = authorities.length === 0 ? undefined : [...tls.getCACertificates("default"), ...authorities]
  // The caller bounds the time. Deliveries need one request at a time, and HTTP/2 has many more ways to misbehave.
  const make = () =>
    buildConnector({
      timeout: 0,
      allowH2: false,
      ...(ca === undefined ? {} : { secureContext: tls.createSecureContext({ ca }) })
    })
  // Reading all authorities takes longer than a handshake: once, and only where something is secure.
  let made: buildConnector.connector | undefined
  return { lookup, proxy, hangUps: new EgressProxy.HangUps(), ca, secure: (to, done) => (made ??= make())(to, done) }
}

/** How long an idle connection is trusted to have a peer before TCP asks, in milliseconds. */
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

/** Answers with the addresses that were judged, whatever is asked. */
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
 * How long an address is given to answer while there are others, in milliseconds. Node gives up on it then for good: after the
 * 250 ms that are its default, nobody farther away would be reached. Longer than TCP takes until it asks again,
 * and never more than a quarter of the deadline: one that swallows everything leaves most of it to the next.
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

/** The peer that was connected to must be allowed too. A connection that is gone already has none. */
const judgePeer = (host: string, { remoteAddress }: Socket, allow: AddressPolicy.AllowList) =>
  remoteAddress === undefined ? Effect.fail(ofGone()) : judge(host, [remoteAddress], allow)

/** Asks for one address after the other, while the proxy says that it can't connect there. */
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

/** What a handshake asks for: a name without the dot of the root (RFC 6066 section 3), and no address. */
const serverNameOf = (host: string): string => (isIP(host) === 0 ? host.replace(/\.$/, "") : "")

const makeSecure = (secure: buildConnector.connector, to: buildConnector.Options, httpSocket: Socket) =>
  Effect.callback<Socket, TransportFailure>((resume) => {
    secure({ ...to, httpSocket }, (...[error, socket]) => {
      resume(error === null ? Effect.succeed(socket) : Effect.fail(ofHandshake(error)))
    })
  })

/** The request that a connection is opened for. */
export interface Purpose {
  readonly allow: AddressPolicy.AllowList
  /** In milliseconds. */
  readonly deadline: number
  /** Whose request it is. */
  readonly client: string
}

/** Opens a connection to where undici wants one. `at` is called with each stage; interrupting closes the connection. */
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
    // undici would try again and again to use a socket that was closed in this moment.
    return socket.destroyed ? yield* ofGone() : socket
  }).pipe(Effect.onError(() => Effect.sync(() => plain.destroy())))
})
