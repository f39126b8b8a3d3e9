/**
 * The operator's operations on integrations: list with health, enable, disable, set overrides, probe.
 */
import { Context, Effect, JsonPointer, Layer, Option, Predicate, Record, Redacted, Result, Schema } from "effect"
import { Dispatcher } from "../delivery/Dispatcher.ts"
import type { NotServed } from "../model/BuildingMoves.ts"
import { Absence } from "../model/BuildingMoves.ts"
import * as DurationText from "../model/DurationText.ts"
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import { Detail, leastOf, MaxDetail, mostFor } from "../model/Detail.ts"
import type { DeliveryOverrides, Integration } from "../model/Integration.ts"
import { creatingClient, withStatus } from "../model/Integration.ts"
import type { ResourceTypeTable } from "../model/ResourceType.ts"
import { namesIn } from "../model/ResourceType.ts"
import type { Problem } from "../model/InvalidInput.ts"
import { InvalidInput, schemaProblems } from "../model/InvalidInput.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IntegrationWithHealth } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { WakeSignal } from "../ports/WakeSignal.ts"
import { parseNetwork } from "../model/AddressPolicy.ts"
import { headerFlaw, headersFlaw } from "../delivery/CustomHeaders.ts"
import { retryOf } from "../delivery/DeliveryPolicy.ts"
import { problemOf } from "../model/RetryPolicy.ts"
import { IntegrationNotFound } from "../delivery/Deliveries.ts"
import { DeliverySettings } from "../delivery/DeliverySettings.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import { signalAfter } from "../delivery/SignalAfter.ts"
import { changeStored } from "./IntegrationChanges.ts"

const Network = Schema.String.check(
  Schema.makeFilter(
    (text) => Option.isSome(parseNetwork(text)) || "must be a network like 10.0.0.0/8 or fd00::/8, or an address"
  )
)

/** The bounds of `requests_per_second`. */
const leastRate = 0.01
const greatestRate = 1_000

/**
 * Placeholder for a header's hidden value. A header with this value keeps its stored value, so operators can edit and
 * send back what they read.
 */
export const hiddenValue = "(hidden)"

/** Overrides as JSON, with delays as duration texts and header values hidden. */
export const OverridesDocument = Schema.Struct({
  acknowledge: Schema.optionalKey(Schema.Literals(["200", "2xx"])),
  retry: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(DurationText.DurationText))),
  allow_targets: Schema.optionalKey(Schema.Array(Network)),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  requests_per_second: Schema.optionalKey(
    Schema.Finite.check(
      Schema.isBetween(
        { minimum: leastRate, maximum: greatestRate },
        { message: `must be a number from ${leastRate} to ${greatestRate}` }
      )
    )
  )
})

/** A change by the operator. `overrides` replaces all earlier overrides. */
export const IntegrationSwitches = Schema.Struct({
  status: Schema.optionalKey(Schema.Literals(["enabled", "disabled"])),
  detail: Schema.optionalKey(Detail),
  overrides: Schema.optionalKey(OverridesDocument)
})
export type IntegrationSwitches = typeof IntegrationSwitches.Type

const title = "Invalid change"

/** A probe was not sent. */
export class NotProbed extends Schema.TaggedError<NotProbed>()("NotProbed", {
  why: Schema.Literals(["not_disabled", "nothing_to_send"])
}) {
  get said(): Sentence {
    return say(`error_${this.why}`)
  }

  override get message(): string {
    return english(this.said)
  }
}

export class OperatorIntegrations extends Context.Service<
  OperatorIntegrations,
  {
    /** Returns the integrations that match a filter, in the order of their ids. */
    readonly list: IntegrationStore["Service"]["listAll"]
    readonly show: (id: IntegrationId) => Effect.Effect<IntegrationWithHealth, IntegrationNotFound | StoreError>
    /**
     * Enables or disables an integration, or changes its detail or replaces its overrides. Fails if an event's lifetime
     * would end before the first retry, or if the integration's client may not get that much detail.
     */
    readonly set: (
      id: IntegrationId,
      switches: IntegrationSwitches
    ) => Effect.Effect<IntegrationWithHealth, IntegrationNotFound | InvalidInput | NotServed | StoreError>
    /**
     * Sends the newest unacknowledged delivery of a disabled integration, and returns the delivery's id. An
     * acknowledgement enables the integration.
     */
    readonly probe: (id: IntegrationId) => Effect.Effect<DeliveryId, IntegrationNotFound | NotProbed | StoreError>
  }
>()("@doorhook/core/integrations/OperatorIntegrations") {
  static readonly layer: Layer.Layer<
    OperatorIntegrations,
    never,
    IntegrationStore | DeliveryStore | DeliverySettings | Dispatcher | WakeSignal
  > = Layer.effect(
    OperatorIntegrations,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const deliveries = yield* DeliveryStore
      const { retry } = yield* DeliverySettings
      const dispatcher = yield* Dispatcher
      const wake = yield* WakeSignal
      const maxDetail = yield* MaxDetail
      const absence = yield* Absence
      const now = yield* storeTime

      const show = Effect.fnUntraced(function* (id: IntegrationId) {
        const found = yield* store.findWithHealth(id)
        return found ?? (yield* new IntegrationNotFound({ id }))
      })

      const set = Effect.fnUntraced(function* (id: IntegrationId, switches: IntegrationSwitches) {
        const needsCurrent = switches.overrides?.headers !== undefined || switches.detail !== undefined
        const before = needsCurrent ? (yield* show(id)).integration : null
        const invalid = InvalidInput.of(title, [
          ...problemsOf(switches, retry),
          // A hidden value means that the stored value is kept.
          ...headerProblems(switches, before?.overrides ?? {}),
          ...detailProblems(switches, before, maxDetail)
        ])
        if (invalid !== null) return yield* invalid
        const find = () => Effect.map(show(id), ({ integration }) => integration)
        yield* changeStored({ store, dispatcher, absence, now }, find, (current) => applySwitches(current, switches))
        return yield* show(id)
      })

      const probe = Effect.fnUntraced(function* (id: IntegrationId) {
        const probing = deliveries.redeliver({ type: "probe", id }, now())
        const result = yield* signalAfter(wake, probing, ({ _tag }) => _tag === "Redelivered")
        if (result._tag === "Redelivered") {
          return result.delivery_id ?? (yield* new NotProbed({ why: "nothing_to_send" }))
        }
        switch (result.why) {
          case "not_found":
          case "integration_deleted":
            return yield* new IntegrationNotFound({ id })
          case "nothing_to_send":
            return yield* new NotProbed({ why: result.why })
          default:
            return yield* new NotProbed({ why: "not_disabled" })
        }
      })

      return OperatorIntegrations.of({ list: store.listAll, show, set, probe })
    })
  )
}

/** Returns problems with the retry schedules of a change, given the events' lifetimes. */
const problemsOf = (
  { overrides = {} }: IntegrationSwitches,
  retry: DeliverySettings["Service"]["retry"]
): ReadonlyArray<Problem> =>
  Object.keys(overrides.retry ?? {}).flatMap((type) => {
    const flaw = problemOf(retryOf(retry, { overrides: { retry: overrides.retry ?? {} } }, type))
    return flaw === null ? [] : [{ pointer: `/overrides/retry/${type}/${flaw.at}`, detail: flaw.detail }]
  })

/** Returns the problem with the detail of a change, if the integration's client may not get it. */
const detailProblems = (
  { detail }: IntegrationSwitches,
  before: Integration | null,
  max: MaxDetail
): ReadonlyArray<Problem> => {
  if (detail === undefined || before === null) return []
  const most = mostFor(max, [creatingClient(before)], before.bindings)
  const said = say("detail_too_much", { most })
  return leastOf(detail, most) === detail ? [] : [{ pointer: "/detail", detail: english(said), said }]
}

/** Returns problems with the headers of a change, given the current overrides. */
const headerProblems = (
  { overrides: { headers = {} } = {} }: IntegrationSwitches,
  before: DeliveryOverrides
): ReadonlyArray<Problem> => {
  const pointer = "/overrides/headers"
  const all = headersFlaw(headers)
  return [
    ...(all === null ? [] : [{ pointer, detail: all }]),
    ...Object.entries(headers).flatMap(([name, value]) => {
      const isKept = value === hiddenValue
      const unset = isKept && before.headers?.[name] === undefined ? "has no stored value to keep; give a value" : null
      const flaw = unset ?? (isKept ? null : headerFlaw(name, value))
      return flaw === null ? [] : [{ pointer: `${pointer}/${JsonPointer.escapeToken(name)}`, detail: flaw }]
    })
  ]
}

/**
 * Returns the overrides that a document sets. A header whose value is hidden keeps its stored value. If the header was
 * removed in the meantime, it stays removed, because its value is lost.
 */
const overridesIn = (
  { headers, ...others }: typeof OverridesDocument.Type,
  before: DeliveryOverrides
): DeliveryOverrides => ({
  ...others,
  ...(headers !== undefined && {
    headers: Record.filterMap(headers, (value, name) =>
      Result.fromNullishOr(value === hiddenValue ? before.headers?.[name] : Redacted.make(value), () => null)
    )
  })
})

const applySwitches = (current: Integration, { detail, overrides, status }: IntegrationSwitches): Integration => ({
  ...current,
  ...(detail !== undefined && { detail }),
  ...(overrides !== undefined && { overrides: overridesIn(overrides, current.overrides) }),
  ...(status !== undefined && withStatus(current, status))
})

const decode = Schema.decodeUnknownResult(IntegrationSwitches, { errors: "all", onExcessProperty: "error" })

/** Returns problems with retry schedules for undeclared resource types. */
const undeclaredIn = (value: unknown, types: ResourceTypeTable): ReadonlyArray<Problem> => {
  const overrides = Predicate.hasProperty(value, "overrides") ? value.overrides : undefined
  const retry = Predicate.hasProperty(overrides, "retry") ? overrides.retry : undefined
  if (!Predicate.isReadonlyObject(retry)) return []
  return Object.keys(retry).flatMap((name) =>
    types.has(name)
      ? []
      : [{ pointer: `/overrides/retry/${name}`, detail: `is not a resource type; use ${namesIn(types, "or")}` }]
  )
}

/** Reads a change. Unknown members are errors, so that misspellings are found. */
export const readSwitches = (
  value: unknown,
  types: ResourceTypeTable
): Result.Result<IntegrationSwitches, InvalidInput> => {
  const read = decode(value)
  const undeclared = undeclaredIn(value, types)
  if (Result.isFailure(read)) {
    return Result.fail(new InvalidInput({ title, problems: [...schemaProblems(read.failure), ...undeclared] }))
  }
  const invalid = InvalidInput.of(title, undeclared)
  return invalid === null ? Result.succeed(read.success) : Result.fail(invalid)
}

const encode = Schema.encodeSync(OverridesDocument)

/** Returns overrides as JSON. */
export const writeOverrides = ({ headers, ...others }: DeliveryOverrides): typeof OverridesDocument.Encoded =>
  encode({ ...others, ...(headers !== undefined && { headers: Record.map(headers, () => hiddenValue) }) })
