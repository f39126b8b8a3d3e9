/**
 * A backend on Fastify and Kysely that offers webhooks to third parties. It publishes each event in a transaction of
 * Kysely.
 */
import { createDoorhook, publishIn, redactUrl } from "doorhook"
import Fastify from "fastify"
import { CompiledQuery } from "kysely"
import { databaseUrl, db, prepare } from "./database.ts"
import { directory } from "./directory.ts"

const port = Number(process.env["PORT"] ?? 3000)

await prepare()

const doorhook = await createDoorhook({
  database: databaseUrl, // doorhook keeps its tables in the schema doorhook
  publicUrl: process.env["PUBLIC_URL"] ?? `http://localhost:${port}`,
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // without it doorhook stores a generated key in the database
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // without it secrets are readable in the database
  // Allows receivers on this machine. Leave it out in production.
  allowTargets: ["127.0.0.0/8"],
  directory
})

// `redactUrl` keeps client secrets and portal links out of the log.
const app = Fastify({
  logger: {
    serializers: {
      req: ({ ip, method, url }) => ({ method, url: redactUrl(url), remoteAddress: ip })
    }
  }
})
await app.register(doorhook.fastify)
app.get("/", () => "North Tower")

/** `POST /rings`: stores the ring and publishes its event in one transaction. */
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

// Closes the server, then doorhook, then the database.
app.addHook("onClose", async () => {
  await doorhook.close()
  await db.destroy()
})

const url = await app.listen({ host: "127.0.0.1", port })
process.stdout.write(`listening on ${url}\n`)
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void app.close())
