/**
 * Finds members of a published event that are probably misspellings of the optional `tenant_ids`. They are not errors, because
 * hosts may send further members. But an event without `tenant_ids` reaches no tenant, and the host would not notice.
 */
import { Predicate } from "effect"
import { didYouMean } from "../model/Nearest.ts"

const optional = "tenant_ids"

/** The members of an event. An event with only these needs no comparison. */
const known = new Set(["resource_type", "action", "building_id", optional, "data"])

/** Longer names are not compared. */
const longest = 2 * optional.length

const misspelledIn = (value: unknown): ReadonlyArray<string> =>
  !Predicate.isObject(value) || Reflect.get(value, optional) !== undefined
    ? []
    : Object.keys(value).flatMap((name) => {
        const meant = known.has(name) || name.length > longest ? "" : didYouMean(name, [optional])
        return meant === "" ? [] : [`${name} is not a member of an event and was ignored${meant}`]
      })

/** Warnings about probably misspelled members of valid events, without repetitions. */
export const misspelledMembers = (values: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...new Set(values.flatMap(misspelledIn))
]
