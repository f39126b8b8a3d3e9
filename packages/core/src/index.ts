/**
 * Rules, services and ports of doorhook. Its only dependency is `effect`.
 */
// model: data types
export * as AgreedSettings from "./model/AgreedSettings.ts"
export * as BuildingMoves from "./model/BuildingMoves.ts"
export { BeingMoved, Misdirected } from "./model/BuildingMoves.ts"
export type { NotServed } from "./model/BuildingMoves.ts"
export * from "./model/Client.ts"
export * from "./model/NamedFile.ts"
export * from "./model/Delivery.ts"
export * as DurationText from "./model/DurationText.ts"
export * as DirectoryDocument from "./model/DirectoryDocument.ts"
export { unknownMembers } from "./model/UnknownMembers.ts"
export * from "./model/Event.ts"
export * from "./model/EventData.ts"
export * from "./model/Ids.ts"
export { InvalidInput, missingMember, nameOf, schemaProblems } from "./model/InvalidInput.ts"
export type { Problem, Problems } from "./model/InvalidInput.ts"
export * from "./model/Integration.ts"
export { isHost, isSearch, matchesSearch } from "./model/IntegrationSearch.ts"
export type { IntegrationSearch } from "./model/IntegrationSearch.ts"
export * from "./model/IsoTime.ts"
export * as JsonEncoding from "./publish/JsonEncoding.ts"
export * as JsonText from "./model/JsonText.ts"
export * as PublishRequest from "./publish/PublishRequest.ts"
export { didYouMean } from "./model/Nearest.ts"
export * from "./model/Notification.ts"
export { RecentMap } from "./model/RecentMap.ts"
export * from "./model/ResourceType.ts"
export { english, say, Sentence, sentences, SentenceValue } from "./model/Sentences.ts"
export type { SentenceKey, Sentences } from "./model/Sentences.ts"
export { alertDetail, causeIn, closedDetail, commandAdvice, tlsDetail, tlsProblemOf } from "./model/TlsProblem.ts"
export type { TlsProblem } from "./model/TlsProblem.ts"
export * from "./model/Subscription.ts"
export * from "./model/Token.ts"

// pure rules
export * as EventViews from "./delivery/EventViews.ts"
export * from "./model/CallMark.ts"
export * as Catalogue from "./model/Catalogue.ts"
export * from "./model/Detail.ts"
export * as DataSchema from "./model/DataSchema.ts"
export * as Acknowledgement from "./delivery/Acknowledgement.ts"
export * as AddressPolicy from "./model/AddressPolicy.ts"
export { ClaimAllowance } from "./delivery/ClaimAllowance.ts"
export * as HealthRules from "./delivery/HealthRules.ts"
export * as StoreRules from "./delivery/StoreRules.ts"
export * as DeliveryPolicy from "./delivery/DeliveryPolicy.ts"
export * as DeliveryRequest from "./delivery/DeliveryRequest.ts"
export { explainMissing, explainUnknownEvent, missingVerdicts } from "./delivery/EventExplanation.ts"
export type { MissingDelivery, MissingVerdict } from "./delivery/EventExplanation.ts"
export * as Explanation from "./delivery/Explanation.ts"
export { isRedirect } from "./delivery/Redirect.ts"
export * as FailureState from "./model/FailureState.ts"
// Without this alias, declaration files of other packages could not name the type.
export type { FailureState as IntegrationFailureState } from "./model/FailureState.ts"
export * as Matcher from "./model/Matcher.ts"
export * as RedirectUri from "./model/RedirectUri.ts"
export * as RetryPolicy from "./model/RetryPolicy.ts"
export type { RetryPolicies, RetryPolicy as RetrySchedule } from "./model/RetryPolicy.ts"
export * as Settlements from "./delivery/Settlements.ts"
export * as Signature from "./delivery/Signature.ts"
export * as Transitions from "./delivery/Transitions.ts"
export * as TokenValidity from "./model/TokenValidity.ts"
export * as UrlPolicy from "./model/UrlPolicy.ts"

// ports
export * from "./ports/ClientStore.ts"
export * from "./ports/Crypto.ts"
export * from "./ports/DeliveryStore.ts"
export * from "./ports/Directory.ts"
export { failureText } from "./ports/FailureText.ts"
export * from "./ports/IdempotencyStore.ts"
export * from "./ports/IntegrationStore.ts"
export * from "./ports/NameResolver.ts"
export * from "./ports/ServiceUrl.ts"
export * from "./ports/SettingStore.ts"
export { certainOffset, clockFault, MeasuredClock, StoreClock, storeClock, storeTime } from "./ports/StoreClock.ts"
export type { ClockOffset, StoreClockShape } from "./ports/StoreClock.ts"
export * from "./ports/StoreError.ts"
export * from "./ports/StoreHealth.ts"
export * from "./ports/TokenStore.ts"
export * from "./ports/Transport.ts"
export * from "./ports/WakeSignal.ts"

// oauth: the authorization server
export * from "./oauth/AuthorizationServer.ts"
export { AuthorizationSettings, authorizationDefaults, authorizationSettingsOf } from "./oauth/AuthorizationSettings.ts"
export type { AuthorizationSettingsShape, ClientIdMetadata } from "./oauth/AuthorizationSettings.ts"
export { authorizeParameters, denied } from "./oauth/AuthorizationRequest.ts"
export type {
  AuthorizeCheck,
  AuthorizeErrorCode,
  AuthorizeProblem,
  AuthorizeRequest,
  AuthorizeSource
} from "./oauth/AuthorizationRequest.ts"
export { assertionAlgorithms } from "./oauth/ClientAssertion.ts"
export { clientDocumentsLayer, TooManyDocuments } from "./oauth/ClientDocuments.ts"
export type { ClientRequest } from "./oauth/ClientAuthentication.ts"
export * from "./oauth/Clients.ts"
export * from "./oauth/Grants.ts"
export type { LoginAttempt, LoginResult, SignInResult } from "./oauth/Login.ts"
export * as LoginThrottle from "./oauth/LoginThrottle.ts"
export * from "./oauth/OAuthError.ts"
export * as Parameters from "./oauth/Parameters.ts"
export { apiPath, mcpPath, unboundOnly } from "./oauth/Resources.ts"
export type { Audience, OwnApi, ResourceSettings } from "./oauth/Resources.ts"
export type { Introspection, Principal } from "./oauth/Tokens.ts"

// services
export { OwnSettings } from "./delivery/Membership.ts"
export * from "./delivery/Deliveries.ts"
export type { Counted } from "./delivery/DeliveryMetrics.ts"
export * as DeliveryMetrics from "./delivery/DeliveryMetrics.ts"
export * from "./delivery/DeliverySettings.ts"
export * from "./delivery/Dispatcher.ts"
export * from "./delivery/DispatcherStatus.ts"
export * as ClockWatch from "./delivery/ClockWatch.ts"
export * as Retention from "./delivery/Retention.ts"
export * from "./publish/Idempotency.ts"
export { ValidGrants } from "./delivery/AccessCheck.ts"
export { runForever } from "./delivery/Loops.ts"
export { makeMinuteCounter, minuteWindow } from "./model/MinuteCounter.ts"
export * from "./delivery/Notifications.ts"
export { sendDirect } from "./publish/DirectEvent.ts"
export { ServiceKey, serviceKeyLayer } from "./delivery/ServiceKey.ts"
export { inTurn } from "./delivery/Loops.ts"
export { makeEventId } from "./publish/EventIds.ts"
export type { Published } from "./publish/Idempotency.ts"
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
export { HostIntegrations } from "./integrations/HostIntegrations.ts"
export type { Imported, ImportProblem, ImportResult, WantedIntegration } from "./integrations/HostIntegrations.ts"
export {
  Integrations,
  NotYourIntegration,
  resolveDeadline,
  ResourceTypeAliases,
  ScopeNotFound,
  VersionConflict
} from "./integrations/Integrations.ts"
export type { Actor, Created, ExpectedVersions, ScopeError } from "./integrations/Integrations.ts"
export * from "./integrations/OperatorIntegrations.ts"
export * from "./integrations/ScopeReader.ts"
export { FeedHub } from "./integrations/FeedHub.ts"
export * from "./integrations/Feeds.ts"
export * from "./integrations/Subscriptions.ts"
export * as SubscriptionEnds from "./integrations/SubscriptionEnds.ts"
export * from "./integrations/TestEvents.ts"

// text: output for people
export * as Html from "./text/Html.ts"
export * as Shell from "./text/Shell.ts"
export * from "./text/Terminal.ts"

// memory: every storage port without a database, and a transport without a network
export * as AllowAllDirectory from "./memory/AllowAllDirectory.ts"
export * from "./memory/DocumentDirectory.ts"
export * as MemoryStore from "./memory/MemoryStore.ts"
export * as MemoryTransport from "./memory/MemoryTransport.ts"
