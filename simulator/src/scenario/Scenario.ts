/**
 * A scenario: buildings, and the flows of people in each.
 */
import type { Flow } from "../traffic/Flow.ts"
import type { Building } from "../world/Building.ts"

/** A building and what goes on in it. No two of its flows have the same name. */
export interface BuildingTraffic {
  readonly building: Building
  readonly flows: ReadonlyArray<Flow>
}

export interface Scenario {
  readonly name: string
  /** What it is, in one line. */
  readonly description: string
  /** At most 512: event ids have room for no more. */
  readonly buildings: ReadonlyArray<BuildingTraffic>
}
