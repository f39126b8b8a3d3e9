/**
 * The resource types an integration can bind to: the one table to extend when there is a new one.
 *
 * Each entry says which actions exist (document section 2.2), how urgent an event of the type is, and by what schedule
 * it is retried unless settings say otherwise.
 */
import { Schema, Struct } from "effect"
import type { RetryPolicy } from "../rules/RetryPolicy.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** What doorhook knows of one resource type. */
export interface ResourceTypeDefinition {
  readonly actions: ReadonlyArray<"create">
  /** Urgent types overtake all others, whatever their backlog. */
  readonly urgent: boolean
  readonly retry: RetryPolicy
}

export const resourceTypes = {
  // A ring is worthless once nobody stands at the door: quick retries, then never again.
  call: {
    actions: ["create"],
    urgent: true,
    retry: { delays: [1 * second, 3 * second, 8 * second], lifetime: 45 * second }
  },
  // An audit record must survive a weekend of a receiver being down: about three days.
  access_log: {
    actions: ["create"],
    urgent: false,
    retry: {
      delays: [
        5 * second,
        30 * second,
        2 * minute,
        10 * minute,
        30 * minute,
        2 * hour,
        6 * hour,
        12 * hour,
        24 * hour,
        24 * hour
      ],
      lifetime: null
    }
  }
} as const satisfies Record<string, ResourceTypeDefinition>

/** The names, in the order of the table. */
export const resourceTypeNames = Struct.keys(resourceTypes)

export const ResourceType = Schema.Literals(resourceTypeNames)
export type ResourceType = typeof ResourceType.Type

/** What can happen to a resource; the document knows only `create`. */
export const Action = Schema.Literals(["create"])
export type Action = typeof Action.Type

/** The definition of a type, widened to its interface. */
export const definitionOf = (type: ResourceType): ResourceTypeDefinition => resourceTypes[type]
