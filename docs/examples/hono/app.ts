/**
 * doorhook on Hono. The same lines serve on Bun and Deno, whose servers take `app.fetch` too.
 *
 *     node app.ts
 */
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { createDoorhook, redactUrl } from "doorhook"
import { Hono } from "hono"
import { logger } from "hono/logger"

const port = Number(process.env["PORT"] ?? 3000)

const doorhook = await createDoorhook({
  database: process.env["DATABASE"] ?? "doorhook.db",
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
  // A web request does not say where the service is reached.
  publicUrl: process.env["PUBLIC_URL"] ?? `http://localhost:${port}`,
  directory: {
    client: () => null,
    authenticate: (login, password) => (login === "ada" && password === "correct horse" ? { id: "ada" } : null),
    administers: (user, building) => user === "ada" && building === 1,
    isTenant: () => false
  }
})

const app = new Hono()
// Without `redactUrl` the log would hold client secrets and portal links.
app.use(logger((line) => process.stdout.write(`${redactUrl(line)}\n`)))
app.use((context, next) =>
  doorhook.handles(context.req.raw)
    ? // The address that a request comes from makes guessing passwords slow for that address alone.
      doorhook.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address })
    : next()
)
app.get("/", (context) => context.text("North Tower"))
app.post("/rings", async (context) =>
  context.json(
    await doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: Date.now() } })
  )
)

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, (address) =>
  process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`)
)
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close()
    void doorhook.close()
  })
}
