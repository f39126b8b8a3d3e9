/**
 * doorhook over HTTP.
 */
export * from "./OwnPaths.ts"
export * from "./Server.ts"
export * from "./api/ApiSettings.ts"
export { PublicApi } from "./contract/PublicApi.ts"
export { BearerAuthorization } from "./contract/JsonApi.ts"
export { measureGauges } from "./health/Gauges.ts"
export * from "./health/HealthSettings.ts"
export * from "./http/HttpSettings.ts"
export * from "./http/PublicUrl.ts"
export * from "./oauth/Appearance.ts"
export * from "./operator/ClientDocument.ts"
export * from "./operator/NoticeDocument.ts"
export * from "./operator/OperatorIntegrationDocument.ts"
export * from "./operator/FiguresDocument.ts"
export { OperatorKey } from "./operator/OperatorKey.ts"
export { PortalLink, PortalLinks } from "./portal/PortalLinks.ts"
