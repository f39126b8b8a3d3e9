// The same receiver with @doorhook/receiver: signatures, duplicates, work with retries, problems that say what to do.
//
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... node with-kit.ts
//
// WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
import { createReceiver, sqliteStore } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"

const { DATABASE = "receiver.db", PORT = "9000", WEBHOOK_SECRET = "", WITH_PROBE = "" } = process.env

const database = new DatabaseSync(DATABASE)
database.exec("CREATE TABLE IF NOT EXISTS door_log (webhook_id TEXT NOT NULL, body TEXT NOT NULL)")
const store = sqliteStore(database)
const write = database.prepare("INSERT INTO door_log (webhook_id, body) VALUES (?, ?)")

const receiver = createReceiver({
  secrets: WEBHOOK_SECRET === "" ? "allow_unsigned" : [WEBHOOK_SECRET],
  store,
  // In one transaction with the mark that the id is known.
  record: (_, { body, id }) => void write.run(id, body)
})

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://receiver")
  if (pathname === "/hook") return receiver.node(request, response)
  if (pathname !== "/probe" || WITH_PROBE !== "1") return void response.writeHead(404).end()
  response.setHeader("content-type", "application/json")
  response.end(probe(searchParams.get("id") ?? ""))
}).listen(Number(PORT), "127.0.0.1")

process.once("SIGTERM", () => {
  server.close()
  void receiver.close().then(() => process.exit(0))
})

/** What the suite asks: how often an event was acted on, and what was stored. */
function probe(id: string): string {
  const row = database
    .prepare("SELECT count(*) AS effects, min(body) AS body FROM door_log WHERE webhook_id = ?")
    .get(id)
  if (!row?.["effects"]) return JSON.stringify({ effects: 0 })
  const data = canonical(JSON.parse(String(row["body"])).event.data)
  return JSON.stringify({
    effects: row["effects"],
    digest: `sha256:${createHash("sha256").update(data).digest("hex")}`
  })
}

/** RFC 8785: members sorted by UTF-16 code units; numbers and strings are as ECMAScript writes them already. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(",")}}`
}
