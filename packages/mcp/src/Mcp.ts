/**
 * The endpoint as a host chooses it: `createDoorhook({ mcp: mcp() })`, or the layer `McpEndpoint` in Effect.
 */
import { McpRoutes } from "@doorhook/server"
import { Effect } from "effect"
import type { Limits } from "./Endpoint.ts"
import { makeRoutes } from "./Endpoint.ts"
import { makeOwnTools } from "./OwnTools.ts"

/** Options of `mcp`. */
export interface McpOptions {
  /** Text that tells assistants what the service is for. Default: a sentence about doorhook. */
  readonly instructions?: string | undefined
}

const defaultLimits: Limits = {
  sessions: { perGrant: 10, all: 1_000, idle: 30 * 60_000 },
  callsPerGrant: 10
}

const aboutDoorhook =
  "Buildings with doors and intercoms: who came through which door, who rang, and the webhooks that report it to other systems."

/** Makes the endpoint `/mcp` beside `/v4`. */
export const mcp = ({ instructions = aboutDoorhook }: McpOptions = {}): McpRoutes =>
  new McpRoutes([], (api) =>
    Effect.flatMap(makeOwnTools, (tools) => makeRoutes(api, tools, defaultLimits, instructions))
  )
