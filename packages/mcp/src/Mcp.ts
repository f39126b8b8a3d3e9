/**
 * The endpoint as a host chooses it: `createDoorhook({ mcp: mcp() })`, or the layer `McpEndpoint` in Effect.
 */
import { McpRoutes } from "@doorhook/server"
import { publicScope } from "@doorhook/core"
import type { Limits } from "./Endpoint.ts"
import { makeRoutes } from "./Endpoint.ts"
import type { HostTool } from "./HostTools.ts"
import { makeHostTools, problemsOf } from "./HostTools.ts"

/** Options of `mcp`. */
export interface McpOptions {
  /** Tools of the host's own, by name. Default: none. */
  readonly tools?: Readonly<Record<string, HostTool>> | undefined
  /** Text that tells assistants what the service is for. Default: a sentence about doorhook. */
  readonly instructions?: string | undefined
}

const defaultLimits: Limits = {
  sessions: { perGrant: 10, all: 1_000, idle: 30 * 60_000 },
  callsPerGrant: 10
}

const aboutDoorhook =
  "Buildings with doors and intercoms: who came through which door, who rang, and the webhooks that report it to other systems."

/**
 * Makes the endpoint `/mcp` beside `/v4`, with doorhook's own tools and the host's. Throws a `TypeError` that lists all
 * problems of the host's tools.
 */
export const mcp = ({ instructions = aboutDoorhook, tools = {} }: McpOptions = {}): McpRoutes => {
  const problems = problemsOf(tools)
  if (problems.length > 0) throw new TypeError(`mcp: ${problems.join("; ")}`)
  const own = makeHostTools(tools)
  const scopes = [...new Set(own.map(({ scope }) => scope))].filter((scope) => scope !== publicScope)
  return new McpRoutes(scopes, (api) => makeRoutes({ api, instructions, limits: defaultLimits, tools: own }))
}
