/**
 * doorhook: OAuth 2.0 and webhooks for access-control backends.
 */
export { createDoorhook } from "./embed/createDoorhook.ts"
export type { Doorhook, DoorhookOptions, PublishInput, PublishOptions, PublishResult } from "./embed/createDoorhook.ts"
export { DoorhookError } from "./embed/DoorhookError.ts"
export type {
  DeliveriesClient,
  DeliveryAttempt,
  DeliveryDetail,
  DeliverySummary,
  ListOptions,
  Summary
} from "./embed/DeliveriesClient.ts"
export type {
  IntegrationChange,
  IntegrationListOptions,
  IntegrationsClient,
  IntegrationSummary
} from "./embed/IntegrationsClient.ts"
export type { ClientAdded, ClientSummary, ClientsClient, ClientToAdd } from "./embed/ClientsClient.ts"
export type { DoorhookNotice, NoticeListOptions, NoticesClient } from "./embed/NoticesClient.ts"
export type { OnNotice } from "./embed/HostListener.ts"
export type { EngineConfig } from "./config/EngineConfig.ts"
export type {
  HostBuilding,
  HostClient,
  HostDirectory,
  HostSession,
  HostSessionRequest,
  HostTenant
} from "./directory/FunctionDirectory.ts"
