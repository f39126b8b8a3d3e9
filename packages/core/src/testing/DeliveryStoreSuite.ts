/**
 * The contract of `DeliveryStore`. The cases also use the store's `IntegrationStore`.
 */
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../ports/IntegrationStore.ts"
import { backlogCases } from "./deliveries/BacklogCases.ts"
import { callEndCases } from "./deliveries/CallEndCases.ts"
import { claimCases } from "./deliveries/ClaimCases.ts"
import { earlyCases } from "./deliveries/EarlyCases.ts"
import { enqueueCases } from "./deliveries/EnqueueCases.ts"
import { failingCases } from "./deliveries/FailureCases.ts"
import { feedCases } from "./deliveries/FeedCases.ts"
import { fidelityCases } from "./deliveries/FidelityCases.ts"
import { leaseCases } from "./deliveries/LeaseCases.ts"
import { listCases } from "./deliveries/ListCases.ts"
import { probeCases } from "./deliveries/ProbeCases.ts"
import { purgeCases } from "./deliveries/PurgeCases.ts"
import { resendCases } from "./deliveries/ResendCases.ts"
import { settleCases } from "./deliveries/SettleCases.ts"
import type { SuiteCase } from "./SuiteCase.ts"

export const cases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  ...enqueueCases,
  ...fidelityCases,
  ...claimCases,
  ...leaseCases,
  ...earlyCases,
  ...settleCases,
  ...resendCases,
  ...callEndCases,
  ...backlogCases,
  ...listCases,
  ...failingCases,
  ...probeCases,
  ...feedCases,
  ...purgeCases
]
