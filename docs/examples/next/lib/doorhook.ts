/**
 * One doorhook for the whole Next.js process, however many routes import it: kept where a reload of modules does not reach.
 * It starts when it is first asked for, because `next build` imports the routes too.
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
    operatorKey: process.env["DOORHOOK_OPERATOR_KEY"], // made and kept in the database when there is none
    encryptionKey: process.env["DOORHOOK_ENCRYPTION_KEY"], // secrets are kept readable in the database without it
    // Receivers on this machine: leave it out where receivers are on the internet.
    allowTargets: ["127.0.0.0/8"],
    directory: {
      client: () => null, // only clients that are registered by doorhook.clients.add
      authenticate: (login, password) =>
        login === "ada@example.com" && password === "correct horse" ? { id: "ada" } : null,
      administers: (user, building) => user === "ada" && building === 1,
      isTenant: () => false
    }
  })

export const doorhook = (): Promise<Doorhook> => (globalThis.doorhook ??= start())
