/**
 * Contract suites for all implementations of the ports. The suites import no test runner; a few lines of code turn
 * their cases into tests for any runner.
 */
export * as ClientStoreSuite from "./ClientStoreSuite.ts"
export * as CryptoSuite from "./CryptoSuite.ts"
export * as DeliveryStoreSuite from "./DeliveryStoreSuite.ts"
export * as IdempotencyStoreSuite from "./IdempotencyStoreSuite.ts"
export * as IntegrationStoreSuite from "./IntegrationStoreSuite.ts"
export * as SettingStoreSuite from "./SettingStoreSuite.ts"
export * as StoreFixtures from "./Fixtures.ts"
export * as StoreSuite from "./StoreSuite.ts"
export * from "./SuiteCase.ts"
export * as TokenStoreSuite from "./TokenStoreSuite.ts"
export * as TransportSuite from "./TransportSuite.ts"
export * as WakeSignalSuite from "./WakeSignalSuite.ts"
