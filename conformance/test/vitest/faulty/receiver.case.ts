/**
 * The suite on a receiver that answers 409 to duplicates.
 */
import { receiverSuite } from "@doorhook/conformance/vitest"
import { once } from "node:events"
import { createServer } from "node:http"

receiverSuite({
  maxTime: 20_000,
  only: ["R-ACK-02", "R-DUP-01"],
  start: async () => {
    const seen = new Set<unknown>()
    const server = createServer((request, response) => {
      const id = request.headers["webhook-id"]
      response.statusCode = seen.has(id) ? 409 : 200
      seen.add(id)
      request.resume().on("end", () => response.end())
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    return {
      url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}/hook`,
      stop: () => {
        server.closeAllConnections()
        server.close()
      }
    }
  }
})
