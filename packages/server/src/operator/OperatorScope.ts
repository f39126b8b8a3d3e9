/**
 * Whose an integration is, as hosts number their buildings and tenants.
 */
import { Schema } from "effect"

export const OperatorScope = Schema.Struct({ type: Schema.Literals(["building", "tenant"]), id: Schema.Finite })
