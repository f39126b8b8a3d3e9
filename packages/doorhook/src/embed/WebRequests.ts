/**
 * Between the requests of `node:http` and those of the web.
 */
import { authorizationsOf } from "@doorhook/server"
import { Predicate } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { badArgument } from "./Arguments.ts"
import type { ParsedBody } from "./ParsedBody.ts"

/**
 * Throws when it is no web request. A text or a URL is none either: `fetch` of the web takes a method and headers beside it, where
 * this one takes the address of whoever asks. Looked at by its members, as frameworks and test runners have classes of their own.
 */
export const checkWebRequest = (given: unknown): void => {
  const isRequest =
    Predicate.isObject(given) &&
    Predicate.isString(given["method"]) &&
    Predicate.isString(given["url"]) &&
    URL.canParse(given["url"]) &&
    Predicate.hasProperty(given["headers"], "get")
  if (isRequest) return
  throw badArgument(
    "request",
    'a web request, like new Request("http://localhost/health/live")',
    given,
    "; requests of node:http and Express are for doorhook.node"
  )
}

/** About the body as it was sent. */
const bodyHeaders = new Set(["content-length", "content-encoding", "content-type", "transfer-encoding"])

/** Methods that the web's requests can't have (Fetch, forbidden methods). No body belongs to them here. */
const beyondWeb = new Set(["CONNECT", "TRACE", "TRACK"])

/**
 * The request with the body that was put together again; null where the web has no such request, because its requests are
 * spelled in one way only (`/a/../b` is `/b` there) or lack the method. No body is expected of such a one.
 */
export const toWebRequest = (request: IncomingMessage, body: ParsedBody): Request | null => {
  const { method = "GET" } = request
  // A request may name the whole address (RFC 9112 section 3.2.2). Its host tells nothing here, nor does the Host header.
  const target = (request.url ?? "/").replace(/^https?:\/\/[^/]*/i, "")
  const url = URL.parse(`http://localhost${target}`)
  if (url === null || url.pathname !== target.split("?")[0] || beyondWeb.has(method)) return null
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || bodyHeaders.has(name)) continue
    headers.set(name, Array.isArray(value) ? value.join(", ") : value)
  }
  // All of them, to be refused as elsewhere: Node shows the first.
  for (const value of authorizationsOf(request).slice(1)) headers.append("authorization", value)
  if (body.type !== "") headers.set("content-type", body.type)
  const hasNoBody = method === "GET" || method === "HEAD"
  return new Request(url, { method, headers, body: hasNoBody ? null : body.content })
}

/** Answers with a web response, unless the host has answered meanwhile, as one does whose patience has ended. */
export const writeResponse = async (answer: Response, response: ServerResponse): Promise<void> => {
  const content = Buffer.from(await answer.arrayBuffer())
  if (response.headersSent) return
  response.statusCode = answer.status
  const cookies = answer.headers.getSetCookie()
  for (const [name, value] of answer.headers) if (name !== "set-cookie") response.setHeader(name, value)
  if (cookies.length > 0) response.setHeader("set-cookie", cookies)
  response.end(content)
}
