/**
 * doorhook's directory: functions that query users and buildings.
 */
import { verifyPassword } from "doorhook"
import type { HostDirectory } from "doorhook"
import { db } from "./database.ts"

export const directory: HostDirectory = {
  client: () => null, // only clients registered by doorhook.clients.add
  authenticate: async (login, password) => {
    const user = await db.selectFrom("users").selectAll().where("login", "=", login).executeTakeFirst()
    // An unknown login must take as long as a wrong password.
    const isRight = await verifyPassword(password, user?.password_hash ?? "")
    return isRight && user !== undefined ? { id: user.id } : null
  },
  administers: async (user, building) => {
    const query = db.selectFrom("buildings").select("id").where("id", "=", building).where("administrator", "=", user)
    return (await query.executeTakeFirst()) !== undefined
  },
  isTenant: () => false
}
