/**
 * A forward proxy for deliveries, used with CONNECT for both https and http.
 *
 * doorhook resolves names, checks the addresses, and asks the proxy to connect to a checked address. Therefore a later
 * answer of a name server can't redirect the proxy. It also follows that this machine must be able to resolve names,
 * and that a proxy can't filter by name. The proxy's own address is the operator's choice and is not checked.
 *
 * The proxy is at fault if it can't be reached, does not answer in HTTP, or requires other credentials (407). Any other
 * unsuccessful answer counts as the receiver's failure: the proxy could not connect to the receiver, or is not allowed
 * to. If the receiver refuses the connection, some proxies hang up without an answer. A hang-up also counts as the
 * receiver's failure, until the proxy has hung up for several receivers in a row (`HangUps`).
 */
import { AddressPolicy } from "@doorhook/core"
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { Socket } from "node:net"
import { AttemptFailure, EgressFailure, isBroken, ofHangUp, ofProxy } from "./TransportFailure.ts"
import type { TransportFailure } from "./TransportFailure.ts"

export interface EgressProxyOptions {
  /** The proxy's URL: `http://` or `https://`, with user name and password if the proxy requires them. */
  readonly url: string
  /**
   * Destinations that bypass the proxy: networks and addresses (`10.0.0.0/8`), and names, which include their
   * subdomains (`example.com` includes `hooks.example.com`). Default none.
   */
  readonly noProxy?: ReadonlyArray<string>
}

/** An invalid setting. The message says what is accepted, and contains no credentials. */
export class InvalidEgressProxy extends Schema.TaggedError<InvalidEgressProxy>()("InvalidEgressProxy", {
  option: Schema.Literals(["url", "noProxy"]),
  message: Schema.String
}) {}

export interface EgressProxy {
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  /** The `proxy-authorization` header; null without credentials. */
  readonly authorization: Redacted.Redacted | null
  readonly directNetworks: AddressPolicy.AllowList
  readonly directNames: ReadonlyArray<string>
}

const invalid = (option: "url" | "noProxy", message: string): Result.Result<never, InvalidEgressProxy> =>
  Result.fail(new InvalidEgressProxy({ option, message }))

/**
 * Returns the `proxy-authorization` header for the credentials of a URL. Fails if their percent-encoding is invalid.
 */
const authorizationOf = ({ password, username }: URL): Result.Result<Redacted.Redacted | null, unknown> =>
  username === "" && password === ""
    ? Result.succeed(null)
    : Result.try(() => {
        const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
        return Redacted.make(`Basic ${Buffer.from(credentials).toString("base64")}`)
      })

/** Reads the settings of a proxy. */
export const parse = (options: EgressProxyOptions): Result.Result<EgressProxy, InvalidEgressProxy> => {
  const url = URL.parse(options.url)
  const authorization = url === null ? Result.fail(null) : authorizationOf(url)
  if (url === null || !/^https?:$/.test(url.protocol) || Result.isFailure(authorization))
    return invalid("url", "the egress proxy must be a URL like http://user:password@proxy.example:3128")
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "")
    return invalid("url", "the egress proxy's URL must end after the port: a path, query or fragment has no effect")
  const exceptions = options.noProxy ?? []
  const isNetwork = (text: string): boolean => Option.isSome(AddressPolicy.parseNetwork(text))
  const names = exceptions.filter((text) => !isNetwork(text)).map((text) => text.toLowerCase().replace(/^\*?\./, ""))
  const odd = names.find((name) => !/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name))
  if (odd !== undefined)
    return invalid(
      "noProxy",
      `noProxy: ${JSON.stringify(odd)} is neither a network like 10.0.0.0/8 nor a name like example.com`
    )
  const isSecure = url.protocol === "https:"
  return Result.succeed({
    isSecure,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port === "" ? (isSecure ? 443 : 80) : url.port),
    authorization: authorization.success,
    directNetworks: exceptions.flatMap((text) => Option.toArray(AddressPolicy.parseNetwork(text))),
    directNames: names
  })
}

/** Whether a host bypasses the proxy because `noProxy` contains its name or all its addresses. */
export const isDirect = (proxy: EgressProxy, host: string, addresses: ReadonlyArray<string>): boolean => {
  const name = host.replace(/\.$/, "")
  return (
    proxy.directNames.some((direct) => name === direct || name.endsWith(`.${direct}`)) ||
    addresses.every((address) => AddressPolicy.isInside(address, proxy.directNetworks))
  )
}

/** A proxy that hangs up for this many hosts in a row counts as broken. */
const hostsInARow = 3

/** Period within which `hostsInARow` hang-ups mean that the proxy is broken, in milliseconds. */
const rowLasts = 60_000

/** How long a client counts as a user of the proxy after using it, in milliseconds. */
const clientLasts = 3_600_000

/**
 * Distinguishes a broken proxy from a proxy that hangs up because it can't reach a host.
 *
 * A proxy counts as broken after it hangs up for three hosts within a minute, without an answer in between. If several
 * clients use the proxy, the hosts must belong to at least two clients.
 */
export class HangUps {
  readonly #now: () => number
  /** Hosts for which the proxy has hung up since its last answer, each with the client and the time. */
  readonly #hosts = new Map<string, { readonly client: string; readonly at: number }>()
  /** When each client last used the proxy. */
  readonly #clients = new Map<string, number>()

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Records that the proxy answered. */
  answered(client: string): void {
    this.#clients.set(client, this.#now())
    this.#hosts.clear()
  }

  /** Records that the proxy hung up. Returns whether the proxy, not the host, is at fault. */
  hungUp(host: string, client: string): boolean {
    const now = this.#now()
    this.#clients.set(client, now)
    this.#hosts.set(host, { client, at: now })
    for (const [other, { at }] of this.#hosts) if (at < now - rowLasts) this.#hosts.delete(other)
    for (const [other, at] of this.#clients) if (at < now - clientLasts) this.#clients.delete(other)
    const clients = new Set(Array.from(this.#hosts.values(), (one) => one.client))
    return this.#hosts.size >= hostsInARow && clients.size >= Math.min(2, this.#clients.size)
  }
}

/** The destination of a tunnel. */
export interface Target {
  readonly host: string
  /** `address:port`. */
  readonly place: string
  /** The client that created the integration. */
  readonly client: string
}

/**
 * Opens a tunnel through the proxy. `ca` contains the authorities trusted for a proxy on https; undefined means Node's
 * authorities. Calls `reached` once the proxy is connected.
 */
export const tunnel = (
  proxy: EgressProxy,
  hangUps: HangUps,
  ca: Array<string> | undefined,
  { client, host, place }: Target,
  reached: () => void
): Effect.Effect<Socket, TransportFailure> =>
  Effect.callback((resume) => {
    const self = `${proxy.host}:${proxy.port}`
    let isReached = false
    const request = (proxy.isSecure ? requestHttps : requestHttp)({
      method: "CONNECT",
      host: proxy.host,
      port: proxy.port,
      path: place,
      agent: false,
      ...(ca === undefined ? {} : { ca }),
      headers: {
        host: place,
        ...(proxy.authorization === null ? {} : { "proxy-authorization": Redacted.value(proxy.authorization) })
      }
    })
    request.once("socket", (socket) =>
      socket.once(proxy.isSecure ? "secureConnect" : "connect", () => {
        isReached = true
        reached()
      })
    )
    request.once("connect", ({ statusCode: status = 0 }, socket) => {
      hangUps.answered(client)
      // Later errors are handled where the socket is used.
      socket.on("error", () => undefined)
      if (status >= 200 && status <= 299) return resume(Effect.succeed(socket))
      socket.destroy()
      return resume(
        status === 407
          ? new EgressFailure({ message: `the egress proxy ${self} requires valid credentials (status 407)` })
          : new AttemptFailure({
              outcome: "connection_refused",
              message: `the egress proxy ${self} did not connect to ${place} (status ${status})`
            })
      )
    })
    request.on("error", (error) =>
      resume(
        isReached && isBroken(error) && !hangUps.hungUp(host, client) ? ofHangUp(self, place) : ofProxy(self, error)
      )
    )
    request.end()
    return Effect.sync(() => request.destroy())
  })
