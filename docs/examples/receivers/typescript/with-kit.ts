// The same receiver with the kit of @doorhook/conformance: signatures, addresses, duplicates, alerts.
//
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... node with-kit.ts
import { makeReceiver, nodeListener, sqliteStore } from "@doorhook/conformance/receiver"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"

const { DATABASE = "receiver.db", PORT = "9000", WEBHOOK_SECRET = "", WITH_PROBE = "" } = process.env

const database = new DatabaseSync(DATABASE)
database.exec("CREATE TABLE IF NOT EXISTS door_log (webhook_id TEXT NOT NULL, body TEXT NOT NULL)")
const store = sqliteStore(database)
const write = database.prepare("INSERT INTO door_log (webhook_id, body) VALUES (?, ?)")
const count = database.prepare("SELECT count(*) AS effects FROM door_log WHERE webhook_id = ?")

const receiver = makeReceiver({
  store,
  secrets: WEBHOOK_SECRET === "" ? [] : [WEBHOOK_SECRET],
  // In one transaction with the mark that the id is known.
  record: (_, { body, id }) => void write.run(id, body),
  onProblem: ({ message, severity }) => void process.stderr.write(`${severity}: ${message}\n`)
})
const listener = nodeListener(receiver)

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://receiver")
  if (pathname === "/hook") return listener(request, response)
  if (pathname !== "/probe" || WITH_PROBE !== "1") return void response.writeHead(404).end()
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify(count.get(searchParams.get("id") ?? "")))
}).listen(Number(PORT), "127.0.0.1")
