/**
 * The base URL of an embedded doorhook without `publicUrl`: the address and port that its first request came in at. Good
 * enough for trying it out; behind a proxy it takes `publicUrl`.
 *
 * It is learned from connections only, because the issuer of tokens must not change. A web request carries only its `Host`,
 * which the sender chooses.
 */
import { Predicate } from "effect"
import type { IncomingMessage } from "node:http"
import { isIPv6 } from "node:net"
import { defaultPublicUrl } from "./DoorhookOptions.ts"

/** The path that a framework has mounted the handler under: Express takes it off the URL. */
const mountOf = (request: IncomingMessage): string =>
  Predicate.hasProperty(request, "baseUrl") && Predicate.isString(request.baseUrl) ? request.baseUrl : ""

export class InferredUrl {
  #learned: string | null = null

  get isInferred(): boolean {
    return this.#learned !== null
  }

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
}
