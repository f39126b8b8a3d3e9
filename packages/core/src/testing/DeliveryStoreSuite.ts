/**
 * The contract of `DeliveryStore`. Its cases also use the `IntegrationStore` of the same store.
 */
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../ports/IntegrationStore.ts"
import { claimCases } from "./deliveries/ClaimCases.ts"
import { enqueueCases } from "./deliveries/EnqueueCases.ts"
import { fidelityCases } from "./deliveries/FidelityCases.ts"
import { leaseCases } from "./deliveries/LeaseCases.ts"
import { listCases } from "./deliveries/ListCases.ts"
import { resendCases } from "./deliveries/ResendCases.ts"
import { settleCases } from "./deliveries/SettleCases.ts"
import type { SuiteCase } from "./SuiteCase.ts"

export const cases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  ...enqueueCases,
  ...fidelityCases,
  ...claimCases,
  ...leaseCases,
  ...settleCases,
  ...resendCases,
  ...listCases
]
