/**
 * The host's limit of what clients get of an event's data.
 */
import { details, leastOf, MaxDetail, nameOf } from "@doorhook/core"
import type { Detail } from "@doorhook/core"
import { Effect, Layer, Predicate } from "effect"

/**
 * Returns the most that a client (null: an integration without a client) may get of events of a resource type. Called for
 * each attempt, so it must return at once.
 */
export type MaxDetailOf = (client: string | null, type: string) => Detail

/** Limits by client and by resource type. A client gets the least of both. */
export interface DetailLimits {
  /** For clients without a limit of their own, and for integrations without a client. Default: `full`. */
  readonly default?: Detail | undefined
  /** By client id. */
  readonly clients?: Readonly<Record<string, Detail>> | undefined
  /** By resource type, for all clients. */
  readonly types?: Readonly<Record<string, Detail>> | undefined
}

const isDetail = (value: unknown): boolean => details.some((one) => one === value)

const accepted = `${details.join(", ")}, an object with default, clients and types, or a function`

/** Returns the problems of the limits, because a host in plain JavaScript has no type checks. */
export const problemsOf = (given: unknown): ReadonlyArray<string> => {
  if (given === undefined || isDetail(given) || Predicate.isFunction(given)) return []
  if (!Predicate.isReadonlyObject(given) || Array.isArray(given))
    return [`maxDetail: must be ${accepted}, not ${nameOf(given)}`]
  const wrong = (place: string, value: unknown): ReadonlyArray<string> =>
    value === undefined || isDetail(value)
      ? []
      : [`maxDetail${place}: must be ${details.join(" or ")}, not ${nameOf(value)}`]
  return Object.entries(given).flatMap(([name, value]) => {
    if (name === "default") return wrong(".default", value)
    if (name !== "clients" && name !== "types") return [`maxDetail.${name}: is unknown; maxDetail must be ${accepted}`]
    if (value === undefined) return []
    if (!Predicate.isReadonlyObject(value) || Array.isArray(value))
      return [
        `maxDetail.${name}: must be an object like {"${name === "types" ? "access_log" : "acme"}":"redacted"}, not ${nameOf(value)}`
      ]
    return Object.entries(value).flatMap(([key, own]) => wrong(`.${name}.${key}`, own))
  })
}

const ownOf = <Value>(of: Readonly<Record<string, Value>>, name: string | null): Value | undefined =>
  name !== null && Object.hasOwn(of, name) ? of[name] : undefined

const functionOf = (given: MaxDetailOf | Detail | DetailLimits): MaxDetailOf => {
  if (typeof given === "function") return given
  if (typeof given === "string") return () => given
  const { clients = {}, default: usual = "full", types = {} } = given
  return (client, type) => leastOf(ownOf(clients, client) ?? usual, ownOf(types, type) ?? "full")
}

/** Uses the host's limits. While a function does not work, clients get the least, and a warning says why. */
export const layer = (given: MaxDetailOf | Detail | DetailLimits | undefined): Layer.Layer<never> => {
  const maxDetail = given === undefined ? undefined : functionOf(given)
  return maxDetail === undefined
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
}
