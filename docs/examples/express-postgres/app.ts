/**
 * A backend on Express and PostgreSQL with its own login, which offers webhooks to third parties. It publishes each
 * event in the transaction that stores the entry.
 */
import { createDoorhook, publishIn, redactUrl, sqlDirectory } from "doorhook"
import express from "express"
import { databaseUrl, inTransaction, pool, prepare } from "./database.ts"
import { login, sessionOf } from "./login.ts"

const port = Number(process.env["PORT"] ?? 3000)
const publicUrl = process.env["PUBLIC_URL"] ?? `http://localhost:${port}`

await prepare()

const doorhook = await createDoorhook({
  database: databaseUrl, // doorhook keeps its tables in the schema doorhook
  publicUrl,
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // without it doorhook stores a generated key in the database
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // without it secrets are readable in the database
  // Allows receivers on this machine. Leave it out in production.
  allowTargets: ["127.0.0.0/8"],
  directory: {
    ...sqlDirectory({ database: pool }),
    session: async ({ headers }) => (await sessionOf(headers["cookie"])) ?? { login_url: `${publicUrl}/login` }
  }
})

const app = express()
app.use((request, response, next) => {
  // `redactUrl` keeps client secrets and portal links out of the log.
  const line = `${request.method} ${redactUrl(request.originalUrl)}`
  response.on("finish", () => process.stdout.write(`${line} ${response.statusCode}\n`))
  next()
})
app.use(doorhook.node)
app.use(login(publicUrl))

app.get("/", (_, response) => void response.send("North Tower"))

/** Opens a door: stores the entry and publishes its event in one transaction. */
app.post("/doors/:id/open", async (request, response) => {
  const user = await sessionOf(request.headers.cookie)
  if (user === null) return void response.status(401).json({ error: "Log in first." })
  const { rows } = await pool.query("SELECT id::int, building_id, name FROM access_points WHERE id::text = $1", [
    request.params.id
  ])
  const [door] = rows
  if (door === undefined) return void response.status(404).json({ error: "There is no such door." })
  const published = await inTransaction(async (client) => {
    const entry = await client.query(
      "INSERT INTO entries (access_point_id, user_id) VALUES ($1, $2) RETURNING id::int",
      [door.id, user.id]
    )
    return publishIn(client, {
      resource_type: "access_log",
      action: "create",
      building_id: door.building_id,
      data: { id: entry.rows[0].id, entry_method: "app", access_point: { id: door.id, name: door.name } }
    })
  })
  response.status(201).json(published)
})

const server = app.listen(port, "127.0.0.1", () => {
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`)
})

// Finishes open requests and deliveries, then exits.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close()
    server.closeIdleConnections()
    void doorhook.close().then(() => pool.end())
  })
}
