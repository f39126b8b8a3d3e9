/** Ways to break a store or an engine, for the variants in `Variants.ts`. */
import type { DeliveryStore, Settled, Settlement } from "@doorhook/core"
import { Effect } from "effect"
import type { Breakage, Ports } from "../src/Simulation.ts"
import type { Scenario } from "../src/world/Scenario.ts"
import type { Stores } from "@doorhook/simulator/testing"

export interface Variant {
  readonly name: string
  /** The check that must fail. */
  readonly check: string
  /** A seed whose small world shows the fault. It is tried first, to save time. */
  readonly seed: number
  readonly breakage: Breakage
}

export const fault = (check: string, name: string, seed: number, breakage: Breakage): Variant => ({
  name,
  check,
  seed,
  breakage
})

export type Deliveries = DeliveryStore["Service"]

export const store = (change: (deliveries: Deliveries) => Partial<Deliveries>): Breakage => ({
  store: (stores) => ({ ...stores, deliveries: { ...stores.deliveries, ...change(stores.deliveries) } })
})

/** Breaks the deliveries of each engine by itself, unlike `store`. */
export const ofEngine = (change: (deliveries: Deliveries) => Partial<Deliveries>): Breakage => ({
  engine: ({ stores, ...ports }) => ({
    ...ports,
    stores: { ...stores, deliveries: { ...stores.deliveries, ...change(stores.deliveries) } }
  })
})

export const integrations = (change: (stores: Stores) => Partial<Stores["integrations"]>): Breakage => ({
  store: (stores) => ({ ...stores, integrations: { ...stores.integrations, ...change(stores) } })
})

export const engine = (change: (ports: Ports) => Partial<Ports>): Breakage => ({
  engine: (ports) => ({ ...ports, ...change(ports) })
})

/** Makes an engine settle deliveries against the rules. */
export const settling = (change: (settlement: Settlement) => Settlement): Breakage =>
  ofEngine(({ settle }) => ({
    settle: (outcomes, now, disableAfter) =>
      settle({ ...outcomes, settlements: outcomes.settlements.map(change) }, now, disableAfter)
  }))

/** Changes the answers that an engine gets to its settlements. */
export const answering = (change: (settled: Settled, settlements: ReadonlyArray<Settlement>) => Settled): Breakage =>
  ofEngine(({ settle }) => ({
    settle: (outcomes, now, disableAfter) =>
      Effect.map(settle(outcomes, now, disableAfter), (settled) => change(settled, outcomes.settlements))
  }))

export const hour = 3_600_000

/** Changes the actions and the conditions of a world. */
export const within =
  (
    actions: Partial<Scenario["actions"]>,
    settings: Scenario["settings"] = {},
    others: Partial<Scenario> = {}
  ): ((scenario: Scenario) => Scenario) =>
  (scenario) => ({
    ...scenario,
    ...others,
    actions: { ...scenario.actions, ...actions },
    settings: { ...scenario.settings, ...settings }
  })
