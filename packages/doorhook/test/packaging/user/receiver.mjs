import { createReceiver, sqliteStore } from "@doorhook/receiver"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { DatabaseSync } from "node:sqlite"
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync("node_modules/@doorhook/receiver/package.json", "utf8")
)
if (dependencies ?? peerDependencies) throw new Error("@doorhook/receiver has dependencies")
const recorded = []
const receiver = createReceiver({
  secrets: "allow_unsigned",
  store: sqliteStore(new DatabaseSync(":memory:")),
  record: (_, { id }) => void recorded.push(id)
})
const server = createServer(receiver.node).listen(0, "127.0.0.1", async () => {
  for (const _ of [1, 2]) {
    const { status } = await fetch("http://127.0.0.1:" + server.address().port, {
      method: "POST",
      headers: { "webhook-id": "evt_1" },
      body: '{"event":{"resource_type":"call","action":"create","data":{}}}'
    })
    if (status !== 200) throw new Error("answered " + status)
  }
  if (recorded.join() !== "evt_1") throw new Error("recorded " + recorded)
  server.close()
  await receiver.close()
})
