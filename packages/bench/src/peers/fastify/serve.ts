/**
 * A hand-written server for reads of integrations, on Fastify and `node:sqlite` or `pg`. See `peers/README.md`.
 *
 * `serve.ts sqlite TOKENS FILE` creates the database. `serve.ts postgres URL PATH TOKEN...` reads the tables of doorhook.
 * Both print their address, the integration's path and the access tokens as JSON.
 */
import type { FastifyReply, FastifyRequest } from "fastify"
import Fastify from "fastify"
import { randomUUID } from "node:crypto"
import { building, client, user } from "../../harness/ServerProcess.ts"
import { inPostgres, inSqlite } from "./Storage.ts"
import type { Row } from "./Storage.ts"

const [database, ...args] = process.argv.slice(2)

const users = new Map([[user.login, { buildings: new Set([building]) }]])
const clients = new Set([client.id])

const storage = database === "postgres" ? inPostgres(args) : inSqlite(args)

const limit = 600
const minute = 60_000
let counts = new Map<string, number>()
let countedSince = 0

/** Returns the number of requests by a grant in this minute, including this one. */
const countOf = (grant: string, now: number): number => {
  if (now >= countedSince + minute) {
    counts = new Map()
    countedSince = now
  }
  const requests = (counts.get(grant) ?? 0) + 1
  counts.set(grant, requests)
  return requests
}

interface Params {
  readonly building: string
  readonly id: string
}

type Request = FastifyRequest<{ readonly Params: Params }>

const presented = ({ headers }: Request): string | undefined =>
  /^Bearer +([\w.~+/-]+=*)$/i.exec(headers.authorization ?? "")?.[1]

/** Returns the headers that all responses have. */
const headersOf = (request: Request): Record<string, string> => ({
  "content-type": "application/vnd.api+json",
  vary: "Accept",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-request-id": request.id
})

/**
 * Returns the body unchanged. Fastify's own serializer would add a charset to the content type, which JSON:API forbids.
 */
const asIs = (body: unknown): string => String(body)

const send = (reply: FastifyReply, status: number, headers: Record<string, string>, body: unknown): FastifyReply =>
  reply.code(status).headers(headers).serializer(asIs).send(JSON.stringify(body))

const refuse = (reply: FastifyReply, status: number, title: string, headers: Record<string, string>): FastifyReply =>
  send(reply, status, headers, { errors: [{ id: headers["x-request-id"], status: String(status), title }] })

const app = Fastify({
  keepAliveTimeout: 65_000,
  genReqId: ({ headers }) => String(headers["x-request-id"] ?? `req_${randomUUID()}`)
})

/** A request that may read an integration, or the answer that refuses it. */
type Admitted =
  | { readonly headers: Record<string, string>; readonly isOwn: boolean }
  | { readonly refused: FastifyReply }

/** Checks the stored token of a request, and counts the request. */
const admit = (request: Request, reply: FastifyReply, grant: Row | undefined): Admitted => {
  const now = Date.now()
  const headers = headersOf(request)
  const reader = users.get(String(grant?.["user_id"]))
  if (
    grant === undefined ||
    grant["revoked_at"] !== null ||
    Number(grant["expires_at"]) <= now ||
    reader === undefined ||
    !clients.has(String(grant["client_id"]))
  ) {
    const challenge = { ...headers, "www-authenticate": 'Bearer error="invalid_token"' }
    return { refused: refuse(reply, 401, "Unauthorized", challenge) }
  }
  const requests = countOf(String(grant["id"]), now)
  headers["ratelimit-policy"] = `"default";q=${limit};w=60`
  headers["ratelimit"] =
    `"default";r=${Math.max(0, limit - requests)};t=${Math.ceil((countedSince + minute - now) / 1_000)}`
  if (requests > limit) return { refused: refuse(reply, 429, "Too many requests", headers) }
  return { headers, isOwn: reader.buildings.has(Number(request.params.building)) }
}

const respond = (
  request: Request,
  reply: FastifyReply,
  headers: Record<string, string>,
  row: Row | undefined
): FastifyReply => {
  const of = Number(request.params.building)
  if (row === undefined || Number(row["building_id"]) !== of) return refuse(reply, 404, "Not found", headers)
  const id = String(row["id"])
  headers["etag"] = `"${String(row["version"])}"`
  return send(reply, 200, headers, {
    data: {
      type: "integrations",
      id,
      attributes: {
        integrator: row["integrator"],
        configuration: { url: row["url"], method: row["method"] },
        bindings: JSON.parse(String(row["bindings"])),
        name: row["name"],
        description: row["description"],
        detail: row["detail"],
        status: row["status"],
        disabled_reason: row["disabled_reason"],
        created_at: new Date(Number(row["created_at"])).toISOString(),
        updated_at: new Date(Number(row["updated_at"])).toISOString()
      },
      relationships: {
        building: { data: { type: "buildings", id: String(of) } },
        client: { data: { type: "clients", id: row["created_by_client"] } }
      },
      links: { self: `${url}/v4/buildings/${of}/integrations/${id}` }
    }
  })
}

const refuseNobody = (request: Request, reply: FastifyReply): FastifyReply =>
  refuse(reply, 401, "Unauthorized", { ...headersOf(request), "www-authenticate": "Bearer" })

const route = "/v4/buildings/:building/integrations/:id"

if (storage.isAsync) {
  app.get<{ Params: Params }>(route, async (request, reply) => {
    const token = presented(request)
    if (token === undefined) return refuseNobody(request, reply)
    const admitted = admit(request, reply, await storage.findGrant(token))
    if ("refused" in admitted) return admitted.refused
    const row = admitted.isOwn ? await storage.findIntegration(Number(request.params.id)) : undefined
    return respond(request, reply, admitted.headers, row)
  })
} else {
  app.get<{ Params: Params }>(route, (request, reply) => {
    const token = presented(request)
    if (token === undefined) return refuseNobody(request, reply)
    const admitted = admit(request, reply, storage.findGrant(token))
    if ("refused" in admitted) return admitted.refused
    const row = admitted.isOwn ? storage.findIntegration(Number(request.params.id)) : undefined
    return respond(request, reply, admitted.headers, row)
  })
}

const url = await app.listen({ host: "127.0.0.1", port: 0 })
process.stdout.write(`${JSON.stringify({ url, path: storage.path, tokens: storage.tokens })}\n`)
