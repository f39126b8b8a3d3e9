/**
 * doorhook over HTTP.
 */
export * from "./Server.ts"
export * from "./api/ApiSettings.ts"
export { isLoopbackHost, measureGauges } from "./health/HealthRoutes.ts"
export * from "./health/HealthSettings.ts"
export { StoreProbe } from "./health/HealthStatus.ts"
export { streamHeaders } from "./api/ApiEndpoint.ts"
export type { ApiEndpoint } from "./api/ApiEndpoint.ts"
export { inOneLine } from "./api/FeedStreams.ts"
export type { EndReason, StreamFormat } from "./api/FeedStreams.ts"
export { authorizationsIn, readText } from "./http/Exchange.ts"
export { insufficientScope, isRepeated, readBearer, repeatedAuthorization, unauthorized } from "./http/Credentials.ts"
export { parseJson } from "./http/Documents.ts"
export type { Exchange, ReadBody } from "./http/Exchange.ts"
export {
  failure,
  internalError,
  logRefusal,
  logUnanswered,
  outcomeOf,
  RequestFailure,
  stopped
} from "./http/Failures.ts"
export type { KnownError } from "./http/Failures.ts"
export { bareAnswer, HttpSurface, jsonFace } from "./http/HttpSurface.ts"
export type { Answer, Pieces, Route } from "./http/Route.ts"
export * from "./http/EffectRoutes.ts"
export * from "./http/HttpSettings.ts"
export * from "./http/Listener.ts"
export * from "./http/OwnPaths.ts"
export { PageSecret } from "./http/PageSecret.ts"
export * from "./http/PublicUrl.ts"
export type { ClientDocument, ClientWithSecretDocument } from "./operator/ClientOperations.ts"
export { clientOperations } from "./operator/ClientOperations.ts"
export type {
  AttemptDocument,
  DeliveryCountsDocument,
  DeliveryDetailDocument,
  DeliveryDocument,
  DeliveryPageDocument
} from "./operator/DeliveryOperations.ts"
export { deliveryOperations } from "./operator/DeliveryOperations.ts"
export type { EventExplanationDocument } from "./operator/EventOperations.ts"
export { eventOperations } from "./operator/EventOperations.ts"
export type { GrantDocument } from "./operator/GrantOperations.ts"
export { grantOperations } from "./operator/GrantOperations.ts"
export type {
  CreatedIntegrationDocument,
  ImportDocument,
  OperatorIntegrationDocument,
  OperatorIntegrationPageDocument,
  TestSentDocument
} from "./operator/IntegrationOperations.ts"
export { integrationOperations } from "./operator/IntegrationOperations.ts"
export type { NotificationDocument, NotificationPageDocument } from "./operator/NotificationOperations.ts"
export { notificationDocument, notificationOperations } from "./operator/NotificationOperations.ts"
export type { Operation } from "./operator/Operation.ts"
export { OperatorApi } from "./operator/OperatorApi.ts"
export type { OperatorCall, OperatorServices } from "./operator/OperatorApi.ts"
export { OperatorKey } from "./operator/OperatorKey.ts"
export { PortalLink, PortalLinks } from "./operator/PortalLinks.ts"
export { Appearance, AppearanceShape, HomeUrl, HomeUrlShape } from "./ui/Page.ts"
export { HostTexts, TextsShape } from "./ui/Texts.ts"
