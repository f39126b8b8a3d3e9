/**
 * Provides doorhook: other modules import this one and inject `DOORHOOK`.
 */
import { Inject, Module } from "@nestjs/common"
import type { OnApplicationShutdown } from "@nestjs/common"
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"

export const DOORHOOK = Symbol("doorhook")

const start = (): Promise<Doorhook> =>
  createDoorhook({
    database: process.env["DATABASE"] ?? "doorhook.db",
    publicUrl: process.env["PUBLIC_URL"] ?? `http://localhost:${process.env["PORT"] ?? 3000}`,
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

@Module({ providers: [{ provide: DOORHOOK, useFactory: start }], exports: [DOORHOOK] })
export class DoorhookModule implements OnApplicationShutdown {
  constructor(@Inject(DOORHOOK) private readonly doorhook: Doorhook) {}

  onApplicationShutdown(): Promise<void> {
    return this.doorhook.close()
  }
}
