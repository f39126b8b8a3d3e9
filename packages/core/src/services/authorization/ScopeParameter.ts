/**
 * The `scope` parameter (RFC 6749 section 3.3). There is one scope, so that what is granted is always the same.
 */
import { publicScope } from "../../domain/Token.ts"
import type { AuthorizationSettingsShape } from "./AuthorizationSettings.ts"

/** Whether a requested scope can be granted; a scope that is not asked for is. */
export const isGrantable = (scope: string | null, unknown: AuthorizationSettingsShape["unknownScope"]): boolean =>
  scope === null || unknown === "ignore" || scope.split(" ").every((name) => name === "" || name === publicScope)

/** What to tell a client that asked for another. */
export const refusal = `The only scope is ${publicScope}. Ask for it, or leave the scope parameter out.`
