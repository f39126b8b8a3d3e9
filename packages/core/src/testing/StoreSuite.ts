/**
 * The contract of a whole store: the suites of all its ports.
 *
 * ```ts
 * for (const { name, run } of StoreSuite.suite("my store", layer)) it.effect(name, () => run)
 * ```
 */
import type { Layer } from "effect"
import type { ClientStore } from "../ports/ClientStore.ts"
import type { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IdempotencyStore } from "../ports/IdempotencyStore.ts"
import type { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { SettingStore } from "../ports/SettingStore.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import * as ClientStoreSuite from "./ClientStoreSuite.ts"
import * as DeliveryStoreSuite from "./DeliveryStoreSuite.ts"
import * as IdempotencyStoreSuite from "./IdempotencyStoreSuite.ts"
import * as IntegrationStoreSuite from "./IntegrationStoreSuite.ts"
import * as SettingStoreSuite from "./SettingStoreSuite.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { provideEach } from "./SuiteCase.ts"
import * as TokenStoreSuite from "./TokenStoreSuite.ts"

/** All storage ports that a store implements. */
export type Stores = DeliveryStore | IntegrationStore | IdempotencyStore | TokenStore | ClientStore | SettingStore

/** Returns all cases, ready to run. `layer` is built once for each case, and must provide an empty store each time. */
export const suite = <E>(name: string, layer: Layer.Layer<Stores, E>): ReadonlyArray<SuiteCase<never>> => {
  const named = <R extends Stores>(port: string, cases: ReadonlyArray<SuiteCase<R>>): ReadonlyArray<SuiteCase<R>> =>
    cases.map((each) => ({ ...each, name: `${name}, ${port}: ${each.name}` }))
  return provideEach<Stores, E>(
    [
      ...named("DeliveryStore", DeliveryStoreSuite.cases),
      ...named("IntegrationStore", IntegrationStoreSuite.cases),
      ...named("IdempotencyStore", IdempotencyStoreSuite.cases),
      ...named("TokenStore", TokenStoreSuite.cases),
      ...named("ClientStore", ClientStoreSuite.cases),
      ...named("SettingStore", SettingStoreSuite.cases)
    ],
    layer
  )
}
