/**
 * What a published event says that nobody reads: a member that was probably meant for the one that may be left out. It is no
 * error, because hosts send members of their own; but an event without `tenant_ids` reaches no tenant, and nothing fails.
 */
import { Predicate } from "effect"
import { didYouMean } from "../model/Nearest.ts"

const optional = "tenant_ids"

/** The members that are read: whatever else is there is compared, and usually nothing else is. */
const known = new Set(["resource_type", "action", "building_id", optional, "data"])

/** No name that is so much longer is nearly it. */
const longest = 2 * optional.length

const misspelledIn = (value: unknown): ReadonlyArray<string> =>
  !Predicate.isObject(value) || Reflect.get(value, optional) !== undefined
    ? []
    : Object.keys(value).flatMap((name) => {
        const meant = known.has(name) || name.length > longest ? "" : didYouMean(name, [optional])
        return meant === "" ? [] : [`${name} is no member of an event and was not read${meant}`]
      })

/** What is probably mistyped in usable events, each thing once. */
export const misspelledMembers = (values: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...new Set(values.flatMap(misspelledIn))
]
