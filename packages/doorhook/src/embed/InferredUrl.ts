/**
 * The base URL of an embedded doorhook without `publicUrl`: the address and port at which its first request arrived.
 * This is good enough for trying doorhook out. Behind a proxy, set `publicUrl`.
 *
 * The address is taken only from `node:http` connections. A web request has only a `Host` header, which its sender
 * chooses. A sender must not be able to choose the issuer of tokens.
 */
import { Predicate } from "effect"
import type { IncomingMessage } from "node:http"
import { isIPv6 } from "node:net"
import { defaultPublicUrl } from "@doorhook/core"

/** The path under which a framework mounted the handler. Express removes it from the URL. */
const mountOf = (request: IncomingMessage): string =>
  Predicate.hasProperty(request, "baseUrl") && Predicate.isString(request.baseUrl) ? request.baseUrl : ""

export class InferredUrl {
  #learned: string | null = null

  get isInferred(): boolean {
    return this.#learned !== null
  }

  /** The current base URL, for `PublicUrl`. */
  get url(): string {
    return this.#learned ?? defaultPublicUrl
  }

  /** Reads the address from the connection of the first request, because headers can be forged. */
  fromConnection(request: IncomingMessage, mount = mountOf(request)): void {
    const { localAddress, localPort } = request.socket
    if (this.#learned !== null || localAddress === undefined || localPort === undefined) return
    const address = localAddress.replace(/^::ffff:/i, "")
    const scheme = "encrypted" in request.socket ? "https" : "http"
    this.#learned = `${scheme}://${isIPv6(address) ? `[${address}]` : address}:${localPort}${mount}`
  }
}
