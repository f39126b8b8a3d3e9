/**
 * A backend on Hono and SQLite that offers webhooks to third parties. doorhook reads users and buildings from the
 * backend's tables. On Bun and Deno pass `app.fetch` to their servers.
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
  // Needed because web requests do not contain the public address.
  publicUrl: process.env["PUBLIC_URL"] ?? `http://localhost:${port}`,
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // without it doorhook stores a generated key in the database
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // without it secrets are readable in the database
  // Allows receivers on this machine. Leave it out in production.
  allowTargets: ["127.0.0.0/8"],
  directory: sqlDirectory({ database })
})

const app = new Hono()
// `redactUrl` keeps client secrets and portal links out of the log.
app.use(logger((line) => process.stdout.write(`${redactUrl(line)}\n`)))
app.use((context, next) =>
  doorhook.handles(context.req.raw)
    ? // Failed logins are limited by this address.
      doorhook.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address })
    : next()
)
app.get("/", (context) => context.text("North Tower"))

/**
 * Rings. The ring and its event are in two SQLite files, which can't share a transaction. The idempotency key makes it
 * safe to publish the same ring again.
 */
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
