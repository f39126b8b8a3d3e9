/**
 * A building's backend on Express and SQLite, with users, doors and a login of its own, that gives third parties webhooks.
 *
 *     node app.ts             then open http://localhost:3000/login
 *
 * `PORT`, `DATA` (a folder) and `PUBLIC_URL` come from the environment.
 */
import { createDoorhook, hashPassword, redactUrl, sqlDirectory, verifyPassword } from "doorhook"
import express from "express"
import { randomBytes } from "node:crypto"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

const port = Number(process.env["PORT"] ?? 3000)
const publicUrl = process.env["PUBLIC_URL"] ?? `http://localhost:${port}`
const data = process.env["DATA"] ?? "data"

// The host's own database.
mkdirSync(data, { recursive: true })
const database = new DatabaseSync(join(data, "host.db"))
database.exec(`
  CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, login TEXT UNIQUE NOT NULL, password_hash TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS buildings (id INTEGER PRIMARY KEY, name TEXT NOT NULL, time_zone TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS building_administrators (user_id INTEGER NOT NULL, building_id INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS tenants (
    id INTEGER PRIMARY KEY, user_id INTEGER, building_id INTEGER NOT NULL, unit_id INTEGER, unit_label TEXT
  );
  CREATE TABLE IF NOT EXISTS access_points (id INTEGER PRIMARY KEY, building_id INTEGER NOT NULL, name TEXT NOT NULL);
`)
if (database.prepare("SELECT 1 FROM users").get() === undefined) {
  const hash = await hashPassword("correct horse")
  database.prepare("INSERT INTO users (login, password_hash) VALUES (?, ?)").run("ada@example.com", hash)
  database.exec(`
    INSERT INTO buildings VALUES (1, 'North Tower', 'Europe/Berlin');
    INSERT INTO building_administrators VALUES (1, 1);
    INSERT INTO access_points VALUES (11, 1, 'Front door');
  `)
}

// The host's own login: a cookie names a session.
const sessions = new Map<string, { readonly id: string; readonly name: string }>()
const sessionOf = (cookies = "") => sessions.get(/(?:^|; )session=([0-9a-f]+)/.exec(cookies)?.[1] ?? "") ?? null

const doorhook = await createDoorhook({
  database: join(data, "doorhook.db"),
  publicUrl,
  operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
  encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
  // Receivers on this machine: leave it out where receivers are on the internet.
  allowTargets: ["127.0.0.0/8"],
  directory: {
    ...sqlDirectory({ database }),
    session: ({ headers }) => sessionOf(headers["cookie"]) ?? { login_url: `${publicUrl}/login` }
  }
})

const app = express()
app.use((request, response, next) => {
  // Without `redactUrl` the log would hold client secrets and portal links.
  const line = `${request.method} ${redactUrl(request.originalUrl)}`
  response.on("finish", () => process.stdout.write(`${line} ${response.statusCode}\n`))
  next()
})
app.use(doorhook.node)
app.use(express.urlencoded({ extended: false }), express.json())

app.get("/login", (request, response) => {
  const { return_to: given } = request.query
  const returnTo = (typeof given === "string" ? given : "").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
  response.send(`<!doctype html><title>Log in</title><form method="post">
    <input type="hidden" name="return_to" value="${returnTo}">
    <input name="login" autocomplete="username"><input name="password" type="password"><button>Log in</button></form>`)
})

app.post("/login", async (request, response) => {
  const { login = "", password = "", return_to: returnTo = "" } = request.body
  const user = database.prepare("SELECT id, login, password_hash FROM users WHERE login = ?").get(login)
  // As long for a login that nobody has: it must not be told apart by time.
  const isRight = await verifyPassword(password, String(user?.["password_hash"] ?? ""))
  if (user === undefined || !isRight) {
    return void response.status(401).send("Unknown login or wrong password.")
  }
  const session = randomBytes(16).toString("hex")
  sessions.set(session, { id: String(user["id"]), name: String(user["login"]) })
  response.cookie("session", session, { httpOnly: true, sameSite: "lax", secure: publicUrl.startsWith("https:") })
  // Back to doorhook's page, and to nobody else's.
  response.redirect(303, String(returnTo).startsWith(`${publicUrl}/`) ? returnTo : "/")
})

// What the host does, and tells receivers of.
app.post("/doors/:id/open", async (request, response) => {
  const door = database.prepare("SELECT id, building_id, name FROM access_points WHERE id = ?").get(request.params.id)
  const user = sessionOf(request.headers.cookie)
  if (user === null) return void response.status(401).json({ error: "Log in first." })
  if (door === undefined) return void response.status(404).json({ error: "There is no such door." })
  const published = await doorhook.publish({
    resource_type: "access_log",
    action: "create",
    building_id: Number(door["building_id"]),
    data: { id: Date.now(), entry_method: "app", access_point: { id: door["id"], name: door["name"] } }
  })
  response.status(202).json(published)
})

app.get("/", (_, response) => void response.send("North Tower"))

const server = app.listen(port, "127.0.0.1", () => {
  const address = server.address()
  const listensOn = address !== null && typeof address === "object" ? address.port : port
  process.stdout.write(`listening on http://127.0.0.1:${listensOn}\n`)
})

// Finish what is open, then end.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close()
    server.closeIdleConnections()
    void doorhook.close().then(() => database.close())
  })
}
