/**
 * doorhook on Fastify, with a directory of functions.
 *
 *     node app.ts
 */
import { createDoorhook, redactUrl } from "doorhook"
import Fastify from "fastify"

const doorhook = await createDoorhook({
  database: process.env["DATABASE"] ?? "doorhook.db",
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
  directory: {
    client: () => null, // only clients that are registered by doorhook.clients.add
    authenticate: (login, password) => (login === "ada" && password === "correct horse" ? { id: "ada" } : null),
    administers: (user, building) => user === "ada" && building === 1,
    isTenant: () => false
  }
})

// Without `redactUrl` the log would hold client secrets and portal links.
const app = Fastify({
  logger: {
    serializers: {
      req: ({ ip, method, url }) => ({ method, url: redactUrl(url), remoteAddress: ip })
    }
  }
})
await app.register(doorhook.fastify)
app.get("/", () => "North Tower")
app.post("/rings", () =>
  doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: Date.now() } })
)
// Requests first, then deliveries.
app.addHook("onClose", () => doorhook.close())

const url = await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) })
process.stdout.write(`listening on ${url}\n`)
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void app.close())
