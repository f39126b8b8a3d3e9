/**
 * What a virtual world is made of.
 */
import type { DeliverySettingsShape, Integration, NewEvent } from "@doorhook/core"
import type { Stores } from "../engine/world/WatchedStore.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import type { PlannedIntegration } from "../run/World.ts"
import type { RealWork } from "./RealWork.ts"
import type { WorkerPorts } from "./Worker.ts"

/** All times in milliseconds. */
export interface VirtualOptions {
  readonly seed: number
  /** Latencies of this much of the beginning are left out. */
  readonly warmUp?: number
  /** When the run begins, since the epoch. */
  readonly beginning: number
  readonly integrations: ReadonlyArray<StoredIntegration>
  readonly receivers: ReadonlyArray<ReceiverRule>
  readonly retry: DeliverySettingsShape["retry"]
  readonly ackTimeout: number
  readonly workers: number
  /** How often a process dies, in the middle of something; null for never. */
  readonly crashEvery: number | null
  /** How often somebody deletes an integration and makes another one; null for never. */
  readonly deleteEvery: number | null
  readonly stores: Stores
  /** Store calls that wait for real work, of a disk: time stands still meanwhile. Null for a store that has none. */
  readonly realWork: RealWork | null
  /** What is replaced to see whether the rules notice. */
  readonly breakage?: (ports: WorkerPorts) => WorkerPorts
}

/** An integration that is stored already. */
export interface StoredIntegration {
  readonly planned: PlannedIntegration
  readonly stored: Integration
}

/** Where an integration's receiver is; each integration in its place has another URL. */
export const urlOf = ({ place }: PlannedIntegration, generation = 1): string =>
  `https://receiver${place}.example/hook/${generation}`

/** What is published, when, and by which clock people lived when it happened. */
export interface Publication {
  /** Since the epoch. */
  readonly at: number
  readonly event: NewEvent
  readonly zone: string
}
