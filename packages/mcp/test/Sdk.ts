/**
 * The MCP SDK's client. A package that it imports also has the export condition `source`, with which this workspace runs
 * its own sources: for files in `node_modules`, the condition is left out.
 */
import { registerHooks } from "node:module"

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier,
      context.parentURL?.includes("/node_modules/") === true
        ? { ...context, conditions: context.conditions.filter((condition) => condition !== "source") }
        : context
    )
})

export const { Client } = await import("@modelcontextprotocol/sdk/client/index.js")
export const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js")
export const { UnauthorizedError } = await import("@modelcontextprotocol/sdk/client/auth.js")
export const { ElicitRequestSchema, ResultSchema } = await import("@modelcontextprotocol/sdk/types.js")
