/**
 * What the operator sets of an integration: whether it is enabled, and where its deliveries differ from the others'.
 */
import { Option, Record, Result, Schema } from "effect"
import { parseNetwork } from "../rules/AddressPolicy.ts"
import * as DurationText from "./DurationText.ts"
import type { DeliveryOverrides, Integration } from "./Integration.ts"
import { resourceTypeNames, resourceTypes } from "./ResourceType.ts"
import { notKnown, schemaProblems } from "./SchemaProblems.ts"

const Network = Schema.String.check(
  Schema.makeFilter(
    (text) => Option.isSome(parseNetwork(text)) || "must be a network like 10.0.0.0/8 or fd00::/8, or an address"
  )
)

/** The overrides as they are written: delays as durations. */
export const OverridesDocument = Schema.Struct({
  acknowledge: Schema.optionalKey(Schema.Literals(["200", "2xx"])),
  retry: Schema.optionalKey(
    Schema.Struct(Record.map(resourceTypes, () => Schema.optionalKey(Schema.Array(DurationText.DurationText))))
  ),
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

/** A resource type that there is not is told with those that there are. */
const reword = ({ detail, pointer }: { readonly pointer: string; readonly detail: string }) =>
  detail === notKnown && pointer.startsWith("/overrides/retry/")
    ? { pointer, detail: `is no resource type; there are ${resourceTypeNames.join(" and ")}` }
    : { pointer, detail }

/** Reads a change. A member it does not know is an error: an operator's slip of the pen must not go unnoticed. */
export const readSwitches = (value: unknown): Result.Result<IntegrationSwitches, InvalidSwitches> =>
  Result.mapError(decode(value), (error) => new InvalidSwitches({ problems: schemaProblems(error).map(reword) }))

const encode = Schema.encodeSync(OverridesDocument)

/** Overrides as they are written. */
export const writeOverrides = (overrides: DeliveryOverrides): typeof OverridesDocument.Encoded => encode(overrides)
