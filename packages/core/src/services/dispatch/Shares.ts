/**
 * How the workers over one store share the places of an integration: its cap holds over all of them together.
 *
 * Each takes an equal part; what is left over goes to the first ones, counted from another one for each integration. With
 * more workers than places each has one all the same, because one with none would hold deliveries that it never sends.
 */
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Roll } from "../../ports/DeliveryStore.ts"

/** How often a worker says that it lives, in milliseconds. */
export const beatInterval = 5_000

/** For how long a worker that said so counts as living, in milliseconds. */
export const beatFor = 3 * beatInterval

/** The only worker, until it is known that there are others. */
export const alone: Roll = { workers: 1, rank: 0 }

/** How many of an integration's places this worker has. */
export const shareOf = (places: number, integration: IntegrationId, { rank, workers }: Roll): number =>
  Math.max(1, Math.floor(places / workers) + ((rank + integration) % workers < places % workers ? 1 : 0))
