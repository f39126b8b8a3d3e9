/**
 * Where an embedded doorhook says that it is reached while nobody has told it: where its first request reached it. Good
 * enough for trying it out; behind a proxy only `publicUrl` knows.
 */
import { Predicate } from "effect"
import type { IncomingMessage } from "node:http"
import { isIPv6 } from "node:net"
import { defaultPublicUrl } from "./DoorhookOptions.ts"

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname)

/** The path that a framework has mounted the handler under: Express takes it off the URL. */
const mountOf = (request: IncomingMessage): string =>
  Predicate.hasProperty(request, "baseUrl") && Predicate.isString(request.baseUrl) ? request.baseUrl : ""

export class LearnedUrl {
  #learned: string | null = null

  /** A base for `PublicUrl`. */
  get url(): string {
    return this.#learned ?? defaultPublicUrl
  }

  /** From the connection: what the request says of its host could be invented. */
  fromConnection(request: IncomingMessage, mount = mountOf(request)): void {
    const { localAddress, localPort } = request.socket
    if (this.#learned !== null || localAddress === undefined || localPort === undefined) return
    const address = localAddress.replace(/^::ffff:/i, "")
    const scheme = "encrypted" in request.socket ? "https" : "http"
    this.#learned = `${scheme}://${isIPv6(address) ? `[${address}]` : address}:${localPort}${mount}`
  }

  /** From a web request, which knows no connection: its word is taken only for this machine. */
  fromUrl(request: Request): void {
    const url = this.#learned === null ? URL.parse(request.url) : null
    if (url !== null && isLoopback(url.hostname)) this.#learned = url.origin
  }
}
