/**
 * doorhook's own tools. Each call checks the user's rights in the host's directory, like `/v4`.
 */
import { ScopeReader } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { Tool } from "./Tools.ts"
import { makeTool, readsOnly } from "./Tools.ts"

/** Makes doorhook's tools. */
export const makeOwnTools = Effect.gen(function* () {
  const scopes = yield* ScopeReader
  const tools: ReadonlyArray<Tool> = [
    makeTool({
      name: "list_places",
      title: "Buildings and tenants",
      description:
        "Lists the buildings that the user administers, with their doors, and the tenants (residents or companies) that the user belongs to. Other tools take these ids.",
      input: Schema.Struct({}),
      hints: readsOnly,
      run: (_, caller) => Effect.all({ buildings: scopes.buildings(caller), tenants: scopes.tenants(caller) })
    })
  ]
  return tools
})
