// A receiver of doorhook's webhooks in TypeScript: Node 24 and nothing else.
//
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... node receiver.ts
//
// WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { DatabaseSync } from "node:sqlite"

const { DATABASE = "receiver.db", PORT = "9000", WEBHOOK_SECRET = "", WITH_PROBE = "" } = process.env
const key = WEBHOOK_SECRET === "" ? null : Buffer.from(WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64")
const longestBody = 1024 * 1024

const database = new DatabaseSync(DATABASE)
// synchronous = FULL: what was acknowledged survives a power cut.
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
database.exec("CREATE TABLE IF NOT EXISTS deliveries (webhook_id TEXT PRIMARY KEY)")
database.exec(
  "CREATE TABLE IF NOT EXISTS door_log (webhook_id TEXT NOT NULL, resource_type TEXT NOT NULL, data TEXT NOT NULL)"
)
const markAsKnown = database.prepare("INSERT INTO deliveries (webhook_id) VALUES (?) ON CONFLICT DO NOTHING")
const writeToLog = database.prepare("INSERT INTO door_log (webhook_id, resource_type, data) VALUES (?, ?, ?)")
const effectsOf = database.prepare("SELECT count(*) AS effects, min(data) AS data FROM door_log WHERE webhook_id = ?")

/** The mark and what is done about the event are one transaction: both are there, or neither. */
function handleOnce(id: string, resourceType: string, data: string): void {
  database.exec("BEGIN IMMEDIATE")
  try {
    // A known id is a duplicate: nothing is done, and it is acknowledged all the same.
    if (markAsKnown.run(id).changes === 1) writeToLog.run(id, resourceType, data)
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
}

/** Standard Webhooks: HMAC-SHA-256 of `id.timestamp.body`, over the bytes that arrived. */
function isGenuine(request: IncomingMessage, body: Buffer): boolean {
  if (key === null) return true
  const header = (name: string): string => String(request.headers[name] ?? "")
  const timestamp = header("webhook-timestamp")
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false
  const mac = createHmac("sha256", key)
    .update(`${header("webhook-id")}.${timestamp}.`)
    .update(body)
    .digest("base64")
  const expected = Buffer.from(`v1,${mac}`)
  // Several signatures come while a secret is rotated.
  return header("webhook-signature")
    .split(" ")
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The event in a body; null when there is none. Members and types that are not known are fine. */
function readEvent(body: Buffer): { readonly resourceType: string; readonly data: Record<string, unknown> } | null {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body))
    const event = isObject(parsed) ? parsed["event"] : null
    if (!isObject(event) || typeof event["resource_type"] !== "string" || !isObject(event["data"])) return null
    return { resourceType: event["resource_type"], data: event["data"] }
  } catch {
    return null
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Array<Buffer> = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > longestBody) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== "POST") return 405
  const body = await readBody(request)
  if (body === null) return 413
  if (!isGenuine(request, body)) return 401
  const id = request.headers["webhook-id"]
  const event = readEvent(body)
  if (typeof id !== "string" || id === "" || event === null) return 400
  handleOnce(id, event.resourceType, JSON.stringify(event.data))
  return 200
}

/** RFC 8785, in five lines: ECMAScript writes numbers and strings as it asks. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
}

function probe(id: string): string {
  const row = effectsOf.get(id)
  if (!row?.["effects"]) return JSON.stringify({ effects: 0 })
  const digest = createHash("sha256")
    .update(canonical(JSON.parse(String(row["data"]))))
    .digest("hex")
  return JSON.stringify({ effects: row["effects"], digest: `sha256:${digest}` })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://receiver")
  if (pathname === "/hook") {
    response.writeHead(await receive(request)).end()
  } else if (pathname === "/probe" && WITH_PROBE === "1") {
    response.writeHead(200, { "content-type": "application/json" }).end(probe(searchParams.get("id") ?? ""))
  } else {
    response.writeHead(404).end()
  }
}

createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    // The sender hung up in the middle: nothing was kept, and nobody waits for an answer.
    if (request.destroyed) return void response.destroy()
    // The event is not kept, so it is not acknowledged: it will come again. Tell somebody.
    process.stderr.write(`${new Date().toISOString()} delivery failed: ${String(error)}\n`)
    response.writeHead(500).end()
  })
}).listen(Number(PORT), "127.0.0.1")
