/**
 * doorhook on Hono. The same lines serve on Bun and Deno, whose servers take `app.fetch` too.
 *
 *     node app.ts
 */
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { createDoorhook } from "doorhook"
import { Hono } from "hono"

const doorhook = await createDoorhook({
  database: process.env["DATABASE"] ?? "doorhook.db",
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
  directory: {
    client: () => null,
    authenticate: (login, password) => (login === "ada" && password === "correct horse" ? { id: "ada" } : null),
    administers: (user, building) => user === "ada" && building === 1,
    isTenant: () => false
  }
})

const app = new Hono()
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

const server = serve(
  { fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) },
  (address) => process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`)
)
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close()
    void doorhook.close()
  })
}
