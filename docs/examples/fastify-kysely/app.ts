/**
 * A backend on Fastify and Kysely that gives third parties webhooks. An event is published in Kysely's own transaction.
 */
import { createDoorhook, publishIn, redactUrl } from "doorhook"
import Fastify from "fastify"
import { CompiledQuery } from "kysely"
import { databaseUrl, db, prepare } from "./database.ts"
import { directory } from "./directory.ts"

const port = Number(process.env["PORT"] ?? 3000)

await prepare()

const doorhook = await createDoorhook({
  database: databaseUrl, // tables of its own in the schema doorhook
  publicUrl: process.env["PUBLIC_URL"] ?? `http://localhost:${port}`,
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
  // Receivers on this machine: leave it out where receivers are on the internet.
  allowTargets: ["127.0.0.0/8"],
  directory
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

/** Somebody rings: stored and published together, or not at all. */
app.post("/rings", async (_, reply) => {
  const published = await db.transaction().execute(async (transaction) => {
    const ring = await transaction
      .insertInto("rings")
      .values({ building_id: 1 })
      .returning("id")
      .executeTakeFirstOrThrow()
    return publishIn(
      { query: (text, values) => transaction.executeQuery(CompiledQuery.raw(text, values)) },
      { resource_type: "call", action: "create", building_id: 1, data: { id: ring.id } }
    )
  })
  return reply.status(201).send(published)
})

// Requests first, then deliveries, then the database.
app.addHook("onClose", async () => {
  await doorhook.close()
  await db.destroy()
})

const url = await app.listen({ host: "127.0.0.1", port })
process.stdout.write(`listening on ${url}\n`)
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void app.close())
