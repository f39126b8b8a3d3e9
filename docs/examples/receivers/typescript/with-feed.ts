// A webhook receiver that closes its own gaps. It takes webhooks as they come, and reads the feed of its integration at
// each start and once an hour, so that nothing is missing after an outage.
//
//   FEED=https://doors.example/v4/buildings/1/integrations/7/deliveries TOKEN=... \
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... node with-feed.ts
import { createReceiver, readFeed, sqliteStore } from "@doorhook/receiver"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"

const { DATABASE = "receiver.db", FEED = "", PORT = "9000", TOKEN = "", WEBHOOK_SECRET = "" } = process.env

const database = new DatabaseSync(DATABASE)
database.exec(`
  CREATE TABLE IF NOT EXISTS events (webhook_id TEXT PRIMARY KEY, event TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS cursors (feed TEXT PRIMARY KEY, cursor TEXT NOT NULL) STRICT`)
const store = sqliteStore(database)
const keep = database.prepare("INSERT INTO events VALUES (?, ?) ON CONFLICT DO NOTHING")
const load = database.prepare("SELECT cursor FROM cursors WHERE feed = ?")
const save = database.prepare("INSERT INTO cursors VALUES (?, ?) ON CONFLICT DO UPDATE SET cursor = excluded.cursor")

const receiver = createReceiver({
  secrets: [WEBHOOK_SECRET],
  store,
  record: (_, { event, id }) => void keep.run(id, JSON.stringify(event))
})

/** Stores what the feed has beyond the last cursor. The cursor is stored after its items, so a crash loses none. */
const reconcile = async (): Promise<void> => {
  const after = load.get(FEED)?.["cursor"]
  const options = { url: FEED, token: TOKEN, after: typeof after === "string" ? after : null }
  for await (const { cursor, gap, items } of readFeed(options)) {
    if (gap !== null) process.stderr.write(`doorhook no longer has all events since ${gap.from.toISOString()}\n`)
    for (const { event, id } of items) keep.run(id, JSON.stringify(event))
    save.run(FEED, cursor)
    process.stdout.write(`${items.length} events read\n`)
  }
  process.stdout.write("reconciled\n")
}

createServer(receiver.node).listen(Number(PORT), "127.0.0.1")
await reconcile()
setInterval(() => void reconcile(), 3_600_000)
