/**
 * A program that uses doorhook on each given database and closes it. The process must then exit without `process.exit`.
 */
import { createDoorhook } from "doorhook"
import { once } from "node:events"
import { createServer } from "node:http"

for (const database of process.argv.slice(2)) {
  const doorhook = await createDoorhook({
    database: database,
    encryptionKey: "0123456789abcdefghijklmnopqrstuv",
    directory: { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false }
  })
  const server = createServer(doorhook.node).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  await (await fetch(`http://127.0.0.1:${port}/health/live`)).text()
  await doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: 1 } })
  server.close()
  server.closeIdleConnections()
  await doorhook.close()
  process.stdout.write("closed\n")
}
