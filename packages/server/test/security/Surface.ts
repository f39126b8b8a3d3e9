/**
 * All addresses of the service, and the rules that every answer must follow, however wrong the request is.
 */
import { Predicate } from "effect"
import { routes } from "../Table.ts"
import { valueAt } from "../TestServer.ts"
import type { RawReply, RawRequest } from "./RawHttp.ts"

/** An address as a template, with its methods. */
export interface Address {
  readonly path: string
  readonly methods: ReadonlyArray<string>
}

export const addresses: ReadonlyArray<Address> = [...new Set(routes.map(({ path }) => path))].map((path) => ({
  path: path.replaceAll(/:(\w+)/g, "{$1}").replace(/\/\*$/, "/x"),
  // A route of any method is asked with a method that exists.
  methods: routes.filter((route) => route.path === path).map(({ method }) => (method === "*" ? "POST" : method))
}))

/** Internal details that no answer may contain. */
const inside = /\n\s+at |node_modules|node:internal|\.ts:\d|TypeError|RangeError|SyntaxError|ECONN|SQLITE/

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the value at a JSON Pointer with escaped names (RFC 6901 section 4). */
const valueBehind = (value: unknown, pointer: string): unknown =>
  pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>(
      (parent, name) =>
        Predicate.isObjectOrArray(parent) && Object.hasOwn(parent, name) ? Reflect.get(parent, name) : undefined,
      value
    )

const isText = (value: unknown): value is string => Predicate.isString(value) && value !== ""

/** Problems of an error answer of `/v4` or `/operator` (JSON:API 1.1 section 11). */
const errorDocumentProblems = (reply: RawReply, sent: unknown): ReadonlyArray<string> => {
  const document = jsonOf(reply.text)
  const errors: unknown = valueAt(document, "/errors")
  if (!Array.isArray(errors) || errors.length === 0) return ["no list of errors"]
  return errors.flatMap((error: unknown) => {
    const pointer = valueAt(error, "/source/pointer")
    return [
      valueAt(error, "/id") === reply.headers["x-request-id"] ? "" : "an error's id is not the request's",
      valueAt(error, "/status") === String(reply.status) ? "" : "an error's status is not the answer's",
      ["code", "title", "detail"].every((name) => isText(valueAt(error, `/${name}`))) ? "" : "an error says nothing",
      Predicate.isString(pointer) && valueBehind(sent, pointer) === undefined
        ? `the pointer ${pointer} leads to nothing that was sent`
        : ""
    ]
  })
}

/** Problems of an error answer of an OAuth endpoint for clients (RFC 6749 section 5.2). */
const oauthErrorProblems = (reply: RawReply): ReadonlyArray<string> => {
  const body = jsonOf(reply.text)
  const description = valueAt(body, "/error_description")
  return [
    isText(valueAt(body, "/error")) ? "" : "no error code",
    Predicate.isString(description) && /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(description)
      ? ""
      : "the description has characters that it must not have",
    (reply.status === 401) === (reply.headers["www-authenticate"] !== undefined)
      ? ""
      : "a challenge comes with 401 and with nothing else"
  ]
}

const isStream = (reply: RawReply): boolean =>
  reply.status === 200 && reply.headers["content-type"] === "text/event-stream"

const isJson = (reply: RawReply): boolean =>
  /^application\/(?:vnd\.api\+)?json$/.test(reply.headers["content-type"] ?? "")

/** The path of a target. The router ignores one trailing slash. */
const pathOf = (target: string): string => (target.split(/[?#]/)[0] ?? "").replace(/\/$/, "")

/** Returns the name of the rules that apply to an answer. */
const surfaceOf = (
  path: string,
  type: string | undefined
): "page" | "oauth" | "metadata" | "api" | "operator" | "other" => {
  if (path === "/oauth/authorize" || path === "/console" || path === "/portal") return "page"
  // The media type decides, because some paths that begin like this have no page and answer with JSON.
  if (/^\/(?:portal|console)/.test(path) && type?.startsWith("text/html")) return "page"
  if (["/oauth/token", "/oauth/revoke", "/oauth/introspect"].includes(path)) return "oauth"
  if (path.startsWith("/v4/")) return "api"
  if (path.startsWith("/operator/")) return "operator"
  const metadata = ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/v4"]
  return metadata.includes(path) ? "metadata" : "other"
}

/** All problems of an answer; empty if there are none. */
export const problemsOf = (raw: RawRequest, reply: RawReply): ReadonlyArray<string> => {
  const { headers, status, text } = reply
  const failed = status >= 400
  // All unknown addresses answer in the same format, except those below `/oauth` and the OAuth metadata.
  const isNowhere = status === 404 && text.includes('"Nothing is served at this address."')
  const hasBody = raw.method !== "HEAD" && status !== 204
  const problems: Array<string> = [
    status === 500 || status === 501 || status === 502 || status === 504 ? `status ${status}` : "",
    inside.test(text) ? "the inside of the service shows" : "",
    isText(headers["x-request-id"]) ? "" : "no x-request-id",
    headers["x-content-type-options"] === "nosniff" ? "" : "browsers may take it for another type",
    status === 405 && !isText(headers["allow"]) ? "405 without Allow" : "",
    status === 401 && !isText(headers["www-authenticate"]) ? "401 without a challenge" : "",
    headers["access-control-allow-origin"] === undefined ? "" : "another origin may read it"
  ]
  const sent = jsonOf(Predicate.isString(raw.body) ? raw.body : new TextDecoder().decode(raw.body))
  switch (
    isNowhere
      ? /^\/(?:oauth|\.well-known\/oauth-(?:authorization-server|protected-resource))(?:[/?]|$)/.test(raw.target)
        ? "oauth"
        : "other"
      : surfaceOf(pathOf(raw.target), headers["content-type"])
  ) {
    case "page": {
      const isPage = headers["content-type"] === "text/html; charset=utf-8"
      if (![303, 308, 405].includes(status) && !isPage) problems.push("not a page")
      if (isPage && !/frame-ancestors 'none'/.test(headers["content-security-policy"] ?? "")) problems.push("no policy")
      if (headers["cache-control"] !== "no-store") problems.push("caches may keep it")
      break
    }
    case "metadata":
      if (failed && hasBody) problems.push(...oauthErrorProblems(reply))
      break
    case "oauth":
      if (!isJson(reply)) problems.push("not JSON")
      if (headers["cache-control"] !== "no-store") problems.push("caches may keep it")
      if (failed && hasBody) problems.push(...oauthErrorProblems(reply))
      break
    case "api":
    case "operator":
      if (status !== 204 && !isJson(reply) && !isStream(reply)) problems.push("not JSON")
      if (failed && hasBody) problems.push(...errorDocumentProblems(reply, sent))
      break
    case "other":
      if (failed && hasBody && status !== 503) problems.push(...errorDocumentProblems(reply, sent))
  }
  return problems.filter((problem) => problem !== "")
}
