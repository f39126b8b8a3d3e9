/**
 * doorhook: OAuth 2.0 and webhooks for access-control backends.
 */
// Imported first, to report a Node.js version that is too old for the other imports.
export { supportedNode } from "./supportedNode.ts"
export { createDoorhook } from "./embed/createDoorhook.ts"
export type {
  Doorhook,
  PublishInput,
  IdleOptions,
  PublishOptions,
  PublishResult,
  RequestPeer,
  RouteContext
} from "./embed/createDoorhook.ts"
export type { DoorhookOptions } from "./embed/DoorhookOptions.ts"
export type { HostLogger } from "./embed/HostLogger.ts"
export type { NodeRequestHandler } from "./embed/NodeHandler.ts"
export type { FastifyHost, FastifyPlugin } from "./embed/FastifyPlugin.ts"
export type {
  FastifyReplyLike,
  FastifyRequestLike,
  HonoContextLike,
  RequestWithHeaders,
  TokenIdentity,
  TokenMiddleware,
  TokenOptions
} from "./embed/RequireToken.ts"
export { redactUrl } from "./embed/redactUrl.ts"
export { DoorhookError } from "./DoorhookError.ts"
export type {
  ClientAdded,
  ClientRotateOptions,
  ClientsClient,
  ClientSummary,
  ClientToAdd,
  DeliveriesClient,
  DeliveryAttempt,
  DeliveryCounts,
  DeliveryDetail,
  DeliveryListOptions,
  DeliveryPage,
  DeliverySummary,
  DoorhookNotification,
  EventExplanation,
  ExplainOptions,
  GrantRevokeOptions,
  GrantsClient,
  GrantSummary,
  IntegrationBinding,
  IntegrationChange,
  IntegrationCreated,
  IntegrationImport,
  IntegrationImportOptions,
  IntegrationListOptions,
  IntegrationSearchOptions,
  IntegrationPage,
  IntegrationsClient,
  IntegrationSummary,
  IntegrationToCreate,
  NotificationListOptions,
  NotificationPage,
  NotificationsClient,
  OperatorClient,
  PortalClient,
  PortalLinkOptions,
  TestSent
} from "./embed/OperatorClient.ts"
export type { DetailLimits } from "./config/DetailLimits.ts"
export type { MaxDetailOf } from "./embed/HostDetail.ts"
export type { OnNotification } from "./embed/HostListener.ts"
export type { EngineConfig } from "./config/EngineConfig.ts"
export type {
  HostAccessPoint,
  HostBuilding,
  HostClient,
  HostKeySet,
  HostServiceClient,
  HostDirectory,
  HostId,
  HostLogin,
  HostSession,
  HostSessionRequest,
  HostTenant,
  HostUnit,
  HostUser,
  HostUserId,
  HostVisitor
} from "./directory/FunctionDirectory.ts"
export type { SqlDirectoryOptions } from "./directory/SqlDirectory.ts"
export { sqlDirectory } from "./directory/SqlDirectory.ts"
export type { PgLike, SqliteLike, SqlQuery, SqlSource } from "./directory/SqlDirectory.ts"
export type {
  AccessPointsTable,
  AdministratorsTable,
  BuildingsTable,
  SqlTableNames,
  SqlTables,
  TenantsTable,
  UsersTable
} from "./directory/SqlTables.ts"
export type { PasswordCost } from "./directory/PasswordHash.ts"
export { hashPassword, verifyPassword } from "./directory/PasswordHash.ts"
export type { TransactionClient } from "./embed/publishIn.ts"
export { publishIn } from "./embed/publishIn.ts"
