/**
 * The contract of `TokenStore`.
 */
import type { TokenStore } from "../ports/TokenStore.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { codeCases } from "./tokens/CodeCases.ts"
import { purgeCases, revokeCases } from "./tokens/EndCases.ts"
import { refreshCases } from "./tokens/RefreshCases.ts"
import { serviceCases } from "./tokens/ServiceCases.ts"

export const cases: ReadonlyArray<SuiteCase<TokenStore>> = [
  ...codeCases,
  ...refreshCases,
  ...serviceCases,
  ...revokeCases,
  ...purgeCases
]
