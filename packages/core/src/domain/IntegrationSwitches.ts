/**
 * What the operator sets of an integration: whether it is enabled, and where its deliveries differ from the others'.
 */
import { Option, Predicate, Result, Schema } from "effect"
import { parseNetwork } from "../rules/AddressPolicy.ts"
import * as DurationText from "./DurationText.ts"
import type { DeliveryOverrides, Integration } from "./Integration.ts"
import type { ResourceTypeTable } from "./ResourceType.ts"
import { namesIn } from "./ResourceType.ts"
import { schemaProblems } from "./SchemaProblems.ts"

const Network = Schema.String.check(
  Schema.makeFilter(
    (text) => Option.isSome(parseNetwork(text)) || "must be a network like 10.0.0.0/8 or fd00::/8, or an address"
  )
)

/** The overrides as they are written: delays as durations. */
export const OverridesDocument = Schema.Struct({
  acknowledge: Schema.optionalKey(Schema.Literals(["200", "2xx"])),
  retry: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(DurationText.DurationText))),
  allow_targets: Schema.optionalKey(Schema.Array(Network))
})

/** A change by the operator. `overrides` replaces those there are, as a whole. */
export const IntegrationSwitches = Schema.Struct({
  status: Schema.optionalKey(Schema.Literals(["enabled", "disabled"])),
  overrides: Schema.optionalKey(OverridesDocument)
})
export interface IntegrationSwitches {
  readonly status?: Integration["status"]
  readonly overrides?: DeliveryOverrides
}

/** The document is not one: each problem, with where it is. */
export class InvalidSwitches extends Schema.TaggedError<InvalidSwitches>()("InvalidSwitches", {
  problems: Schema.Array(Schema.Struct({ pointer: Schema.String, detail: Schema.String }))
}) {
  override get message(): string {
    return this.problems.map(({ pointer, detail }) => (pointer === "" ? detail : `${pointer}: ${detail}`)).join("; ")
  }
}

const decode = Schema.decodeUnknownResult(IntegrationSwitches, { errors: "all", onExcessProperty: "error" })

/** Schedules for resource types that are not declared. */
const undeclaredIn = (value: unknown, types: ResourceTypeTable): InvalidSwitches["problems"] => {
  const overrides = Predicate.hasProperty(value, "overrides") ? value.overrides : undefined
  const retry = Predicate.hasProperty(overrides, "retry") ? overrides.retry : undefined
  if (!Predicate.isReadonlyObject(retry)) return []
  return Object.keys(retry).flatMap((name) =>
    types.has(name)
      ? []
      : [{ pointer: `/overrides/retry/${name}`, detail: `is no resource type; there are ${namesIn(types, "and")}` }]
  )
}

/** Reads a change. An unknown member is an error: a mistyped one must not go unnoticed. */
export const readSwitches = (
  value: unknown,
  types: ResourceTypeTable
): Result.Result<IntegrationSwitches, InvalidSwitches> => {
  const read = decode(value)
  const problems = [...(Result.isFailure(read) ? schemaProblems(read.failure) : []), ...undeclaredIn(value, types)]
  return problems.length > 0 || Result.isFailure(read)
    ? Result.fail(new InvalidSwitches({ problems }))
    : Result.succeed(read.success)
}

const encode = Schema.encodeSync(OverridesDocument)

/** Overrides as they are written. */
export const writeOverrides = (overrides: DeliveryOverrides): typeof OverridesDocument.Encoded => encode(overrides)
