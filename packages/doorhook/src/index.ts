/**
 * doorhook: OAuth 2.0 and webhooks for access-control backends.
 */
export { createDoorhook } from "./embed/createDoorhook.ts"
export type { Doorhook, DoorhookOptions, PublishInput, PublishResult } from "./embed/createDoorhook.ts"
export { DoorhookError } from "./embed/DoorhookError.ts"
export type {
  DeliveriesClient,
  DeliveryAttempt,
  DeliveryDetail,
  DeliverySummary,
  ListOptions
} from "./embed/OperatorCalls.ts"
export type { EngineConfig } from "./config/EngineConfig.ts"
export type { HostBuilding, HostClient, HostDirectory, HostTenant } from "./directory/FunctionDirectory.ts"
