/**
 * doorhook for assistants: an endpoint of the Model Context Protocol, protected by doorhook's own authorization server.
 */
import { publicScope } from "@doorhook/core"
import { McpRoutes } from "@doorhook/server"
import { makeRoutes } from "./Endpoint.ts"
import type { HostTool } from "./HostTools.ts"
import { makeHostTools } from "./HostTools.ts"

export { ToolError } from "./HostTools.ts"
export type { HostTool, ToolCaller, ToolInput } from "./HostTools.ts"

/** Options of `mcp`. */
export interface McpOptions {
  /** Tools of the host's own, by name. Default: none. */
  readonly tools?: Readonly<Record<string, HostTool>> | undefined
  /** Text for assistants: what the service is for. Default: a sentence about doorhook. */
  readonly instructions?: string | undefined
}

const aboutDoorhook =
  "Buildings with doors and intercoms: who came through which door, who rang, and the webhooks that report it to other systems."

/**
 * Makes the endpoint `/mcp` beside `/v4`, with doorhook's own tools and the host's: the option `mcp` of `createDoorhook`,
 * or the reference `McpEndpoint` of `@doorhook/server` in Effect. Throws a `TypeError` that lists all problems of the
 * host's tools.
 */
export const mcp = ({ instructions = aboutDoorhook, tools = {} }: McpOptions = {}): McpRoutes => {
  const own = makeHostTools(tools)
  const scopes = new Set([...own.values()].map(({ scope }) => scope).filter((scope) => scope !== publicScope))
  return new McpRoutes([...scopes], (api) => makeRoutes(api, instructions, own))
}
