/**
 * The table of routes by method and path. Matching, 404, 405, `Allow` and the OpenAPI description are derived from it.
 */
import type { Effect } from "effect"
import type { Exchange } from "./Exchange.ts"
import type { KnownError, RequestFailure } from "./Failures.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** A body that is produced as the client reads it, so that only one piece is in memory. */
export interface Pieces {
  /** The next piece; null at the end. A failure closes the connection, because the answer has begun. */
  readonly next: Effect.Effect<string | null, KnownError>
  /**
   * Set for a stream, which goes on until its client leaves. It occupies no memory for its client, and begins at once,
   * even before there is a piece.
   */
  readonly live?: {
    /** Called once when the stream is over. */
    readonly close: () => void
    /** The last piece for a client that does not read. */
    readonly tooSlow: string
  }
}

/** The answer to a request. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body; null for none. */
  readonly body: string | Uint8Array | Pieces | null
}

export const isPieces = (body: string | Uint8Array | Pieces): body is Pieces =>
  typeof body === "object" && "next" in body

/** Decoded path parameters. */
export type Params = Readonly<Record<string, string>>

/**
 * Answers a request. An effect that is already an `Exit` needs no fiber. `body` is empty unless the route sets
 * `bodyFirst`.
 */
export type Handler = (x: Exchange, params: Params, body: Uint8Array) => Effect.Effect<Answer, KnownError>

/** How a part of the HTTP surface formats failures. */
export interface Face {
  readonly refuse: (x: Exchange, refusal: RequestFailure) => Effect.Effect<Answer>
}

export interface Route {
  /** The method. With `*`, the handler checks the method itself. */
  readonly method: Method | "*"
  /** The path, like `/v4/buildings/:building_id/integrations`. A final `*` matches any remaining segments. */
  readonly path: `/${string}`
  readonly face: Face
  readonly handle: Handler
  /**
   * If set, a body of at most this many bytes is read before the handler runs. Other handlers read the body themselves.
   */
  readonly bodyFirst?: number
  /** The operation's name in the OpenAPI description; undefined if the route is not described there. */
  readonly operation?: string
  /** Accepted query parameters. */
  readonly query?: ReadonlyArray<string>
  /** Whether pages from the configured browser origins may call the route. */
  readonly crossOrigin?: boolean
}

/** All routes with the same path. */
export interface Resource {
  readonly routes: ReadonlyMap<string, Route>
  /** The value of an `Allow` header (RFC 9110 section 10.2.1). */
  readonly allow: string
}

/** The resource at a path, and the parameters in the path. */
export interface Match {
  readonly resource: Resource
  readonly params: Params
}

interface Node {
  readonly fixed: Map<string, Node>
  open: Node | null
  /** Routes that match any remaining segments. */
  rest: Array<Route>
  routes: Array<Route>
  names: ReadonlyArray<string>
  resource: Resource | null
}

const newNode = (): Node => ({ fixed: new Map(), open: null, rest: [], routes: [], names: [], resource: null })

/** Returns the value of an `Allow` header for these methods. */
const allowed = (methods: Iterable<string>): string =>
  [...methods].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ")

const resourceOf = (routes: ReadonlyArray<Route>): Resource => {
  const byMethod = new Map<string, Route>(routes.map((route) => [route.method, route]))
  return { routes: byMethod, allow: allowed(byMethod.keys()) }
}

const noParams: Params = {}

/** Decodes a path segment; null if its escapes are malformed. */
const unescaped = (part: string): string | null => {
  if (!part.includes("%")) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

const paramsOf = (names: ReadonlyArray<string>, values: ReadonlyArray<string>): Params | null => {
  if (names.length === 0) return noParams
  const params: Record<string, string> = {}
  for (let at = 0; at < names.length; at++) {
    const value = unescaped(values[at] ?? "")
    if (value === null) return null
    params[names[at] ?? ""] = value
  }
  return params
}

/** Makes a function that finds the resource at a path; null if there is none. The comparison is case-sensitive. */
export const makeTable = (routes: ReadonlyArray<Route>): ((path: string) => Match | null) => {
  const root = newNode()
  for (const route of routes) {
    let node = root
    const names: Array<string> = []
    const parts = route.path.split("/").slice(1)
    const isRest = parts.at(-1) === "*"
    for (const part of isRest ? parts.slice(0, -1) : parts) {
      if (part.startsWith(":")) {
        names.push(part.slice(1))
        node.open ??= newNode()
        node = node.open
      } else {
        const next = node.fixed.get(part) ?? newNode()
        node.fixed.set(part, next)
        node = next
      }
    }
    if (isRest) node.rest.push(route)
    else {
      node.routes.push(route)
      node.names = names
    }
  }
  const build = (node: Node): void => {
    if (node.routes.length > 0) node.resource = resourceOf(node.routes)
    for (const next of node.fixed.values()) build(next)
    if (node.open !== null) build(node.open)
  }
  build(root)

  return (path) => {
    let node = root
    let rest: Node | null = null
    const values: Array<string> = []
    // A trailing slash is ignored.
    const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length
    for (let from = 1; from <= end;) {
      const slash = path.indexOf("/", from)
      const to = slash === -1 || slash > end ? end : slash
      const part = path.slice(from, to)
      from = to + 1
      if (node.rest.length > 0) rest = node
      const fixed = node.fixed.get(part)
      if (fixed !== undefined) node = fixed
      else if (node.open !== null && part !== "") {
        values.push(part)
        node = node.open
      } else return rest === null ? null : { resource: resourceOf(rest.rest), params: noParams }
    }
    if (node.resource === null) return rest === null ? null : { resource: resourceOf(rest.rest), params: noParams }
    const params = paramsOf(node.names, values)
    return params === null ? null : { resource: node.resource, params }
  }
}

/**
 * Whether a path has its canonical spelling. Rules like `deny /operator/` in a proxy in front of doorhook rely on this.
 * A canonical path starts with a slash, percent-encodes no character without need (RFC 3986 section 2.3), and has no
 * suffix that some routers remove (`;...`, `#...`). Paths for operators must not end in a slash.
 */
export const isPlainlySpelled = (path: string): boolean => {
  if (!path.startsWith("/") || path.includes(";") || path.includes("#")) return false
  if (path.endsWith("/") && (path.endsWith("/metrics/") || path.includes("/operator/"))) return false
  return !path.includes("%") || !/%(?:2d|2e|5f|7e|3\d|[46][1-9a-f]|[57][0-9a])/i.test(path)
}
