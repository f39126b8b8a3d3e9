/**
 * Declarations of host code that the code blocks of the documentation use, so that each stays short.
 */
import type { Doorhook, DoorhookOptions, HostClient } from "doorhook"
import type { Express } from "express"
import type { FastifyInstance } from "fastify"
import type { Hono } from "hono"
import type { Server } from "node:http"
import type pg from "pg"
declare global {
  const users: {
    check(login: string, password: string): Promise<{ id: string } | null>
    administers(user: string, building: number): Promise<boolean>
    isTenant(user: string, tenant: number): Promise<boolean>
    setPassword(user: string, password: string): Promise<void>
  }
  const sessions: {
    find(cookies: string | undefined): Promise<{ id: string; name: string } | null>
    endAll(user: string): Promise<void>
  }
  const doors: {
    mayOpen(user: string, door: string): Promise<boolean>
    open(door: string): Promise<void>
  }
  const clients: Map<string, HostClient>
  const call: object
  const integrationId: string | number
  const doorhook: Doorhook
  const options: DoorhookOptions
  const app: Express
  const fastify: FastifyInstance
  const hono: Hono
  const server: Server
  const pool: pg.Pool
  const client: pg.PoolClient
  const argon2: { verify(stored: string, password: string): Promise<boolean> }
  const createDoorhook: typeof import("doorhook").createDoorhook
  const sqlDirectory: typeof import("doorhook").sqlDirectory
  const DoorhookError: typeof import("doorhook").DoorhookError
  const getConnInfo: typeof import("@hono/node-server/conninfo").getConnInfo
}
