/**
 * A forward proxy that deliveries leave through: by CONNECT for https and http alike.
 *
 * Names are looked up and judged here, and the proxy is asked for the address that was judged, not for the name, so that
 * it can't be led elsewhere by another answer. This machine must therefore be able to look names up, and a proxy that
 * filters by name sees none. The proxy's own address is the operator's choice and is not judged.
 *
 * The proxy is at fault when it can't be reached, does not speak HTTP, or refuses its credentials (407). Whatever else
 * it answers is about the receiver: that it could not, or may not, connect to it. So is a connection that it closes without an
 * answer, which some proxies do for targets that refuse theirs, until it does so for several targets in a row (`HangUps`).
 */
import { AddressPolicy } from "@doorhook/core"
import { Effect, Option, Redacted, Result, Schema } from "effect"
import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { Socket } from "node:net"
import { AttemptFailure, EgressFailure, isBroken, ofHangUp, ofProxy } from "./TransportFailure.ts"
import type { TransportFailure } from "./TransportFailure.ts"

export interface EgressProxyOptions {
  /** Where the proxy is: `http://` or `https://`, with user name and password if it asks for them. */
  readonly url: string
  /**
   * What is reached without it: networks and addresses (`10.0.0.0/8`), and names with all that is below them
   * (`example.com` is also `hooks.example.com`). Default none.
   */
  readonly noProxy?: ReadonlyArray<string>
}

/** A setting that can't be used; the message says what is accepted, and repeats no credentials. */
export class InvalidEgressProxy extends Schema.TaggedError<InvalidEgressProxy>()("InvalidEgressProxy", {
  option: Schema.Literals(["url", "noProxy"]),
  message: Schema.String
}) {}

export interface EgressProxy {
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  /** The `proxy-authorization` header, null when the proxy asks for none. */
  readonly authorization: Redacted.Redacted | null
  readonly directNetworks: AddressPolicy.AllowList
  readonly directNames: ReadonlyArray<string>
}

const invalid = (option: "url" | "noProxy", message: string): Result.Result<never, InvalidEgressProxy> =>
  Result.fail(new InvalidEgressProxy({ option, message }))

/** The user name and password of a URL as a header; fails when their percent-encoding is broken. */
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

/** Whether a host is reached without the proxy: by its name, or because all its addresses are in such networks. */
export const isDirect = (proxy: EgressProxy, host: string, addresses: ReadonlyArray<string>): boolean => {
  const name = host.replace(/\.$/, "")
  return (
    proxy.directNames.some((direct) => name === direct || name.endsWith(`.${direct}`)) ||
    addresses.every((address) => AddressPolicy.isInside(address, proxy.directNetworks))
  )
}

/** For how many hosts in a row a proxy must hang up to be at fault itself. */
const hostsInARow = 3

/** Length of that window, in milliseconds. */
const rowLasts = 60_000

/** How long a client counts as using the proxy after it last did, in milliseconds. */
const clientLasts = 3_600_000

/**
 * Tells a proxy that hangs up because of a target from one that is broken.
 *
 * It counts as broken after hanging up on three hosts within a minute without an answer in between. If two clients use it, the hosts
 * must belong to at least two.
 */
export class HangUps {
  readonly #now: () => number
  /** Hosts it hung up on since its last answer: for which client, and when. */
  readonly #hosts = new Map<string, { readonly client: string; readonly at: number }>()
  /** When clients last used it. */
  readonly #clients = new Map<string, number>()

  /** `now` is a clock that is never set, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The proxy answered, whatever it said. */
  answered(client: string): void {
    this.#clients.set(client, this.#now())
    this.#hosts.clear()
  }

  /** The proxy hung up. Says whether it is at fault, and not the host. */
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

/** Where a tunnel leads. */
export interface Target {
  readonly host: string
  /** `address:port`. */
  readonly place: string
  /** Whose request it is. */
  readonly client: string
}

/**
 * Asks the proxy for a connection. `ca` are the authorities that a proxy on https may be signed by, undefined for what
 * Node trusts. `reached` is called once the proxy is connected to.
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
      // What breaks from here on is seen by whoever uses the socket.
      socket.on("error", () => undefined)
      if (status >= 200 && status <= 299) return resume(Effect.succeed(socket))
      socket.destroy()
      return resume(
        status === 407
          ? new EgressFailure({ message: `the egress proxy ${self} refuses its credentials (status 407)` })
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
