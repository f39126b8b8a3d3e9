/**
 * doorhook as a provider: other modules import this one and inject `DOORHOOK`.
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

@Module({ providers: [{ provide: DOORHOOK, useFactory: start }], exports: [DOORHOOK] })
export class DoorhookModule implements OnApplicationShutdown {
  constructor(@Inject(DOORHOOK) private readonly doorhook: Doorhook) {}

  onApplicationShutdown(): Promise<void> {
    return this.doorhook.close()
  }
}
