/**
 * The backend's own login: a form, and a cookie with the id of a session in the database.
 */
import { verifyPassword } from "doorhook"
import { Router, urlencoded } from "express"
import { randomBytes } from "node:crypto"
import { pool } from "./database.ts"

export interface SessionUser {
  readonly id: string
  readonly name: string
}

/** The user whose session is in the cookies, or null. */
export const sessionOf = async (cookies = ""): Promise<SessionUser | null> => {
  const id = /(?:^|; )session=([0-9a-f]+)/.exec(cookies)?.[1]
  if (id === undefined) return null
  const { rows } = await pool.query<SessionUser>(
    "SELECT users.id::text, login AS name FROM sessions JOIN users ON users.id = user_id WHERE sessions.id = $1",
    [id]
  )
  return rows[0] ?? null
}

/** `GET` and `POST /login`. */
export const login = (publicUrl: string): Router => {
  const routes = Router()

  routes.get("/login", (request, response) => {
    const { return_to: given } = request.query
    const returnTo = (typeof given === "string" ? given : "").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
    response.send(`<!doctype html><title>Log in</title><form method="post">
      <input type="hidden" name="return_to" value="${returnTo}">
      <input name="login" autocomplete="username"><input name="password" type="password"><button>Log in</button></form>`)
  })

  routes.post("/login", urlencoded({ extended: false }), async (request, response) => {
    const { login: name = "", password = "", return_to: returnTo = "" } = request.body
    const { rows } = await pool.query("SELECT id, password_hash FROM users WHERE login = $1", [name])
    // An unknown login must take as long as a wrong password.
    const isRight = await verifyPassword(String(password), rows[0]?.password_hash ?? "")
    if (!isRight) return void response.status(401).send("Unknown login or wrong password.")
    const session = randomBytes(16).toString("hex")
    await pool.query("INSERT INTO sessions VALUES ($1, $2)", [session, rows[0].id])
    response.cookie("session", session, { httpOnly: true, sameSite: "lax", secure: publicUrl.startsWith("https:") })
    // Returns to the page that sent the user here, if it is on this site.
    response.redirect(303, String(returnTo).startsWith(`${publicUrl}/`) ? returnTo : "/")
  })

  return routes
}
