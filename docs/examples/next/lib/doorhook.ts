/**
 * One doorhook for the whole Next.js process, however many routes import it: kept where a reload of modules does not reach.
 */
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"

declare global {
  var doorhook: Promise<Doorhook> | undefined
}

const start = (): Promise<Doorhook> =>
  createDoorhook({
    database: process.env["DATABASE"] ?? "doorhook.db",
    operatorKey: process.env["DOORHOOK_OPERATOR_KEY"],
    encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
    publicUrl: process.env["PUBLIC_URL"] ?? "http://localhost:3000",
    directory: {
      client: () => null,
      authenticate: (login, password) => (login === "ada" && password === "correct horse" ? { id: "ada" } : null),
      administers: (user, building) => user === "ada" && building === 1,
      isTenant: () => false
    }
  })

export const doorhook = await (globalThis.doorhook ??= start())
