/**
 * The host's function that limits what clients get of an event's data.
 */
import { details, MaxDetail, nameOf } from "@doorhook/core"
import type { Detail } from "@doorhook/core"
import { Effect, Layer, Predicate } from "effect"
import type { DetailSetting } from "../config/DetailLimits.ts"

/**
 * Returns the most that a client (null: an integration without a client) may get of events of a resource type. Called for
 * each attempt, so it must return at once.
 */
export type MaxDetailOf = (client: string | null, type: string) => Detail

/** Uses the host's function, if one is given. While it does not work, clients get the least, and a warning says why. */
export const layer = (maxDetail: MaxDetailOf | DetailSetting | undefined): Layer.Layer<never> =>
  typeof maxDetail !== "function"
    ? Layer.empty
    : Layer.effect(
        MaxDetail,
        Effect.gen(function* () {
          const run = Effect.runForkWith(yield* Effect.context<never>())
          const logged = new Set<string>()
          const failed = (why: string): Detail => {
            if (!logged.has(why)) {
              logged.add(why)
              run(Effect.logWarning(`maxDetail: ${why}. Clients get ids and links only. This is logged once.`))
            }
            return "thin"
          }
          return (client, type) => {
            try {
              const most: unknown = maxDetail(client, type)
              return (
                details.find((one) => one === most) ??
                failed(`must return ${details.join(" or ")}, not ${nameOf(most)}`)
              )
            } catch (error) {
              return failed(`threw ${Predicate.isError(error) ? error.message : nameOf(error)}`)
            }
          }
        })
      )
