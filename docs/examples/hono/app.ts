/**
 * A backend on Hono and SQLite that gives third parties webhooks: doorhook reads users and buildings from the backend's tables.
 * The same lines serve on Bun and Deno, whose servers take `app.fetch` too.
 */
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { createDoorhook, redactUrl, sqlDirectory } from "doorhook"
import { Hono } from "hono"
import { logger } from "hono/logger"
import { join } from "node:path"
import { data, database } from "./database.ts"

const port = Number(process.env["PORT"] ?? 3000)

const doorhook = await createDoorhook({
  database: join(data, "doorhook.db"),
  // A web request does not say where the service is reached.
  publicUrl: process.env["PUBLIC_URL"] ?? `http://localhost:${port}`,
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
  // Receivers on this machine: leave it out where receivers are on the internet.
  allowTargets: ["127.0.0.0/8"],
  directory: sqlDirectory({ database })
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

/** Somebody rings. SQLite files can't share a transaction: the key makes it safe to publish the same ring again. */
app.post("/rings", async (context) => {
  const { lastInsertRowid: id } = database.prepare("INSERT INTO rings (building_id) VALUES (1)").run()
  const published = await doorhook.publish(
    { resource_type: "call", action: "create", building_id: 1, data: { id: Number(id) } },
    { idempotencyKey: `ring-${id}` }
  )
  return context.json(published, 201)
})

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, (address) =>
  process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`)
)
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close()
    void doorhook.close().then(() => database.close())
  })
}
