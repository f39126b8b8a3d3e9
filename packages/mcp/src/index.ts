/**
 * doorhook for assistants: an endpoint of the Model Context Protocol, protected by doorhook's own authorization server.
 */
export { ToolError } from "./HostTools.ts"
export type { HostTool, ToolCaller, ToolInput } from "./HostTools.ts"
export { mcp } from "./Mcp.ts"
export type { McpOptions } from "./Mcp.ts"
