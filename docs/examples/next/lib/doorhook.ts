/**
 * One doorhook for the whole Next.js process. It is a global, so it survives reloads of modules. It starts at the first
 * access, because `next build` also imports the routes.
 */
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"

declare global {
  var doorhook: Promise<Doorhook> | undefined
}

const start = (): Promise<Doorhook> =>
  createDoorhook({
    database: process.env["DATABASE"] ?? "doorhook.db",
    publicUrl: process.env["PUBLIC_URL"] ?? "http://localhost:3000",
    operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // without it doorhook stores a generated key in the database
    encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // without it secrets are readable in the database
    // Allows receivers on this machine. Leave it out in production.
    allowTargets: ["127.0.0.0/8"],
    directory: {
      client: () => null, // only clients registered by doorhook.clients.add
      authenticate: (login, password) =>
        login === "ada@example.com" && password === "correct horse" ? { id: "ada" } : null,
      administers: (user, building) => user === "ada" && building === 1,
      isTenant: () => false
    }
  })

export const doorhook = (): Promise<Doorhook> => (globalThis.doorhook ??= start())
