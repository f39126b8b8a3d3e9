/**
 * Rules, services and ports of doorhook. Depends on `effect` alone.
 */
// domain
export * from "./domain/Client.ts"
export * from "./domain/CommandFailure.ts"
export * from "./domain/Delivery.ts"
export * as DurationText from "./domain/DurationText.ts"
export * as DirectoryDocument from "./domain/DirectoryDocument.ts"
export { oversightsOf } from "./domain/DirectoryOversights.ts"
export * from "./domain/Event.ts"
export type { NamedFile } from "./domain/NamedFile.ts"
export { checkDifferent, checkWritable, fileTrouble, fileTroubleOf, writeNamed } from "./domain/NamedFile.ts"
export * from "./domain/Ids.ts"
export { InvalidInput, missingMember, nameOf, schemaProblems } from "./domain/InvalidInput.ts"
export type { Problem, Problems } from "./domain/InvalidInput.ts"
export * from "./domain/Integration.ts"
export * from "./domain/IsoTime.ts"
export * as JsonFlaw from "./domain/JsonFlaw.ts"
export * as JsonText from "./domain/JsonText.ts"
export * as PublishRequest from "./domain/PublishRequest.ts"
export { didYouMean } from "./domain/Nearest.ts"
export * from "./domain/Notice.ts"
export { RecentMap } from "./domain/RecentMap.ts"
export * from "./domain/ResourceType.ts"
export * from "./domain/Token.ts"

// rules
export * as Acknowledgement from "./rules/Acknowledgement.ts"
export * as AddressPolicy from "./rules/AddressPolicy.ts"
export * as Consequences from "./rules/Consequences.ts"
export * as DeliveryPolicy from "./rules/DeliveryPolicy.ts"
export * as DeliveryRequest from "./rules/DeliveryRequest.ts"
export * as Explanation from "./rules/Explanation.ts"
export { isRedirect } from "./rules/Redirect.ts"
export * as Failing from "./rules/Failing.ts"
// Declarations of other packages name a type by a name of its own only.
export type { Failing as IntegrationFailing } from "./rules/Failing.ts"
export * as Matching from "./rules/Matching.ts"
export * as RedirectUri from "./rules/RedirectUri.ts"
export * as RetryPolicy from "./rules/RetryPolicy.ts"
export type { RetryPolicies, RetryPolicy as RetrySchedule } from "./rules/RetryPolicy.ts"
export * as Settling from "./rules/Settling.ts"
export * as Signature from "./rules/Signature.ts"
export * as Standing from "./rules/Standing.ts"
export * as TokenLife from "./rules/TokenLife.ts"
export * as UrlPolicy from "./rules/UrlPolicy.ts"

// ports
export * from "./ports/ClientStore.ts"
export * from "./ports/Crypto.ts"
export * from "./ports/DeliveryStore.ts"
export * from "./ports/Directory.ts"
export { failureText } from "./ports/FailureText.ts"
export * from "./ports/IdempotencyStore.ts"
export * from "./ports/IntegrationStore.ts"
export * from "./ports/NameResolver.ts"
export * from "./ports/SettingStore.ts"
export * from "./ports/StoreError.ts"
export * from "./ports/StoreHealth.ts"
export * from "./ports/TokenStore.ts"
export * from "./ports/Transport.ts"
export * from "./ports/Wake.ts"

// oauth: the authorization server
export * from "./oauth/AuthorizationServer.ts"
export { AuthorizationSettings, authorizationDefaults, authorizationSettingsOf } from "./oauth/AuthorizationSettings.ts"
export type { AuthorizationSettingsShape } from "./oauth/AuthorizationSettings.ts"
export { authorizeParameters, denied } from "./oauth/AuthorizationRequest.ts"
export type {
  AuthorizeCheck,
  AuthorizeErrorCode,
  AuthorizeProblem,
  AuthorizeRequest
} from "./oauth/AuthorizationRequest.ts"
export type { ClientRequest } from "./oauth/ClientAuthentication.ts"
export * from "./oauth/Clients.ts"
export * from "./oauth/Grants.ts"
export type { LoginAttempt, LoginResult, SignInResult } from "./oauth/Login.ts"
export * as LoginThrottle from "./oauth/LoginThrottle.ts"
export * from "./oauth/OAuthError.ts"
export * as Parameters from "./oauth/Parameters.ts"
export type { Introspection, Principal } from "./oauth/Tokens.ts"

// services
export * from "./services/Deliveries.ts"
export type { Counted } from "./services/DeliveryMetrics.ts"
export * as DeliveryMetrics from "./services/DeliveryMetrics.ts"
export * from "./services/DeliverySettings.ts"
export * from "./delivery/Dispatcher.ts"
export * from "./delivery/DispatcherStatus.ts"
export * as Housekeeping from "./services/Housekeeping.ts"
export * from "./services/Idempotency.ts"
export { inTurn } from "./services/LoopTurns.ts"
export { lasting } from "./services/Lasting.ts"
export { makeMinuteCounter, minuteWindow } from "./services/MinuteCounter.ts"
export * from "./services/Notices.ts"
export * from "./publish/Publisher.ts"

// integrations
export {
  candidateUrl,
  DocumentMismatch,
  IntegrationResource,
  integrationType,
  mismatchOf,
  MismatchReason,
  resourceOf
} from "./integrations/IntegrationDocument.ts"
export * from "./integrations/Integrations.ts"
export * from "./integrations/OperatorIntegrations.ts"
export * from "./integrations/Premises.ts"
export * from "./integrations/TestEvents.ts"

// text: what is put together for people
export { columns } from "./text/Columns.ts"
export { counted } from "./text/Counted.ts"
export { FlagGroups } from "./text/FlagGroups.ts"
export * as Html from "./text/Html.ts"
export * as Shell from "./text/Shell.ts"
export { onOneLine, shownJson, shownText } from "./text/Shown.ts"
export type { TerminalLine } from "./text/TerminalLine.ts"
export { terminalLine } from "./text/TerminalLine.ts"

// memory: every storage port without a database, and a transport without a network
export * as AbsentDirectory from "./memory/AbsentDirectory.ts"
export * from "./memory/DocumentDirectory.ts"
export * as MemoryStore from "./memory/MemoryStore.ts"
export * as MemoryTransport from "./memory/MemoryTransport.ts"
