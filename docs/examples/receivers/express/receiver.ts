// A webhook receiver on Express, with the SQLite of Node.js.
//
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... node receiver.ts
import express from "express"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { DatabaseSync } from "node:sqlite"

const { DATABASE = "receiver.db", PORT = "9000", WEBHOOK_SECRET = "" } = process.env
const key = Buffer.from(WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64")
if (key.length === 0) throw new Error("WEBHOOK_SECRET is not set")

const database = new DatabaseSync(DATABASE)
// FULL: a commit returns when the rows are on disk.
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 4000")
database.exec("CREATE TABLE IF NOT EXISTS webhook_ids (id TEXT PRIMARY KEY)")
database.exec("CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)")
const markAsKnown = database.prepare("INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING")
const keep = database.prepare("INSERT INTO events VALUES (?, ?)")

function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers
  const signed = `${String(id)}.${String(timestamp)}.`
  const expected = Buffer.from(`v1,${createHmac("sha256", key).update(signed).update(body).digest("base64")}`)
  const matches = String(signatures)
    .split(" ")
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected))
  return matches && Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300
}

function isEvent(body: Buffer): boolean {
  try {
    const data: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body))?.event?.data
    return typeof data === "object" && data !== null && !Array.isArray(data)
  } catch {
    return false
  }
}

const app = express()
// The signature covers the raw bytes, so don't use `express.json()` before it.
app.post("/hook", express.raw({ type: () => true, limit: "1mb" }), ({ body, headers }, response) => {
  const id = headers["webhook-id"]
  if (!Buffer.isBuffer(body) || typeof id !== "string" || !isGenuine(headers, body))
    return void response.sendStatus(401)
  if (!isEvent(body)) return void response.sendStatus(400)
  // One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
  database.exec("BEGIN IMMEDIATE")
  try {
    if (markAsKnown.run(id).changes === 1) keep.run(id, body.toString())
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
  response.sendStatus(200)
})
app.all("/hook", (_, response) => void response.sendStatus(405))
app.listen(Number(PORT), "127.0.0.1")
