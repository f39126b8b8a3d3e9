// A webhook receiver with @doorhook/receiver, which verifies signatures, drops duplicates and answers.
//
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... node with-kit.ts
import { createReceiver, sqliteStore } from "@doorhook/receiver"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"

const { DATABASE = "receiver.db", PORT = "9000", WEBHOOK_SECRET = "" } = process.env

const database = new DatabaseSync(DATABASE)
database.exec("CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)")
const store = sqliteStore(database)
const keep = database.prepare("INSERT INTO events VALUES (?, ?)")

const receiver = createReceiver({
  secrets: [WEBHOOK_SECRET],
  store,
  // Runs in the transaction that stores the id. Another process works on `events` later.
  record: (_, { body, id }) => void keep.run(id, body)
})
const server = createServer(receiver.node).listen(Number(PORT), "127.0.0.1")

process.once("SIGTERM", () => {
  server.close()
  void receiver.close().then(() => process.exit(0))
})
