/**
 * A hand-written server for reads of integrations, on Fastify and `node:sqlite`. See `peers/README.md`.
 *
 * `serve.ts TOKENS FILE` creates the database, and prints its address, the integration's path and TOKENS access tokens
 * as JSON.
 */
import type { FastifyReply, FastifyRequest } from "fastify"
import Fastify from "fastify"
import { hash, randomBytes, randomUUID } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import { building, client, user } from "../../harness/ServerProcess.ts"

const [count, file = ":memory:"] = process.argv.slice(2)

const users = new Map([[user.login, { buildings: new Set([building]) }]])
const clients = new Set([client.id])

const db = new DatabaseSync(file)
db.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE grants (
    id INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    revoked_at INTEGER
  ) STRICT;
  CREATE TABLE access_tokens (
    hash TEXT PRIMARY KEY,
    grant_id INTEGER NOT NULL REFERENCES grants (id),
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE integrations (
    id INTEGER PRIMARY KEY,
    building_id INTEGER NOT NULL,
    integrator TEXT NOT NULL,
    url TEXT NOT NULL,
    method TEXT NOT NULL,
    bindings TEXT NOT NULL,
    status TEXT NOT NULL,
    disabled_reason TEXT,
    signing_secret TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT`)

const hashOf = (token: string): string => hash("sha256", token, "base64url")

const insertGrant = db.prepare("INSERT INTO grants VALUES (?, ?, ?, 'public', NULL)")
const insertToken = db.prepare("INSERT INTO access_tokens VALUES (?, ?, ?)")
db.exec("BEGIN")
const tokens = Array.from({ length: Number(count) }, (_, id) => {
  const token = randomBytes(32).toString("base64url")
  insertGrant.run(id, user.login, client.id)
  insertToken.run(hashOf(token), id, Date.now() + 86_400_000)
  return token
})
db.prepare(
  `INSERT INTO integrations VALUES (1, ?, 'webhook', 'http://127.0.0.1:9/hook', 'post',
    '[{"resource_type":"access_log","actions":["create"]}]', 'enabled', NULL, ?, 1, ?, ?)`
).run(building, randomBytes(24).toString("base64"), Date.now(), Date.now())
db.exec("COMMIT")

const findGrant = db.prepare(
  `SELECT g.id, g.user_id, g.client_id, g.revoked_at, t.expires_at
    FROM access_tokens t JOIN grants g ON g.id = t.grant_id WHERE t.hash = ?`
)
const findIntegration = db.prepare(
  `SELECT id, integrator, url, method, bindings, status, disabled_reason, version, created_at, updated_at
    FROM integrations WHERE id = ? AND building_id = ?`
)

const limit = 600
const minute = 60_000
let counts = new Map<number, number>()
let countedSince = 0

/** Returns the number of requests by a grant in this minute, including this one. */
const countOf = (grant: number, now: number): number => {
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

app.get<{ Params: Params }>("/v4/buildings/:building/integrations/:id", (request, reply) => {
  const now = Date.now()
  const headers = headersOf(request)
  const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? "") ?? []
  if (token === undefined) {
    return refuse(reply, 401, "Unauthorized", { ...headers, "www-authenticate": "Bearer" })
  }
  const grant = findGrant.get(hashOf(token))
  const reader = users.get(String(grant?.["user_id"]))
  if (
    grant === undefined ||
    grant["revoked_at"] !== null ||
    Number(grant["expires_at"]) <= now ||
    reader === undefined ||
    !clients.has(String(grant["client_id"]))
  ) {
    return refuse(reply, 401, "Unauthorized", { ...headers, "www-authenticate": 'Bearer error="invalid_token"' })
  }
  const requests = countOf(Number(grant["id"]), now)
  headers["ratelimit-policy"] = `"default";q=${limit};w=60`
  headers["ratelimit"] =
    `"default";r=${Math.max(0, limit - requests)};t=${Math.ceil((countedSince + minute - now) / 1_000)}`
  if (requests > limit) return refuse(reply, 429, "Too many requests", headers)

  const of = Number(request.params.building)
  const row = reader.buildings.has(of) ? findIntegration.get(Number(request.params.id), of) : undefined
  if (row === undefined) return refuse(reply, 404, "Not found", headers)
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
        status: row["status"],
        disabled_reason: row["disabled_reason"],
        created_at: new Date(Number(row["created_at"])).toISOString(),
        updated_at: new Date(Number(row["updated_at"])).toISOString()
      },
      relationships: { building: { data: { type: "buildings", id: String(of) } } },
      links: { self: `${url}/v4/buildings/${of}/integrations/${id}` }
    }
  })
})

const url = await app.listen({ host: "127.0.0.1", port: 0 })
process.stdout.write(`${JSON.stringify({ url, path: `/v4/buildings/${building}/integrations/1`, tokens })}\n`)
