/**
 * An app with the endpoint on a SQLite file, in a process of its own: `KilledApp.ts FILE CA_FILE`. `POST /publish`
 * publishes an event.
 */
import { createDoorhook } from "doorhook"
import { createServer } from "node:http"
import { mcp } from "../src/index.ts"
import { directory } from "./Subscriber.ts"

const [, , database = "", caFile = ""] = process.argv

const doorhook = await createDoorhook({ database, caFile, directory, mcp: mcp(), allowTargets: ["127.0.0.0/8"] })
const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } } as const
const server = createServer((request, response) => {
  if (request.url !== "/publish") return doorhook.node(request, response)
  void doorhook.publish(event).then(() => response.end())
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.stdout.write(`listening on ${typeof address === "object" ? address?.port : ""}\n`)
})
