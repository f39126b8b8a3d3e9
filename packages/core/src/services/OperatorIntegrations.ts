/**
 * The operator's view of integrations: list them, see which fail, and set what the operator can set.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { DeliveryId, IntegrationId } from "../domain/Ids.ts"
import type { Integration } from "../domain/Integration.ts"
import { switched } from "../domain/Integration.ts"
import type { IntegrationSwitches } from "../domain/IntegrationSwitches.ts"
import { InvalidSwitches } from "../domain/IntegrationSwitches.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { SurveyedIntegration, SurveyedStatus, UnreadableIntegration } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { Wake } from "../ports/Wake.ts"
import { retryOf } from "../rules/DeliveryPolicy.ts"
import { flawOf } from "../rules/RetryPolicy.ts"
import { UnknownIntegration } from "./Deliveries.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import type { Dispatcher } from "../delivery/Dispatcher.ts"
import { makeStoredChange } from "./integrations/StoredChange.ts"
import { waking } from "./Waking.ts"

/** A probe was not sent. */
export class NotProbed extends Schema.TaggedError<NotProbed>()("NotProbed", {
  why: Schema.Literals(["not_disabled", "nothing_to_send"])
}) {
  override get message(): string {
    return this.why === "not_disabled"
      ? "Only an integration that doorhook disabled (gone, failing) can be probed. If this one is enabled, send one of its deliveries again; if it was disabled by hand, enable it."
      : "The integration has no delivery left that was not acknowledged, so there is nothing to probe it with. What was under way when it was disabled can be probed once that attempt is recorded. Else enable it."
  }
}

export class OperatorIntegrations extends Context.Service<
  OperatorIntegrations,
  {
    /** All integrations, those of a status, or troubled ones, in the order of their ids: how they fail, or can't be read. */
    readonly list: (filter: {
      readonly status?: SurveyedStatus
      readonly after: IntegrationId | 0
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<SurveyedIntegration | UnreadableIntegration>, StoreError>
    readonly show: (id: IntegrationId) => Effect.Effect<SurveyedIntegration, UnknownIntegration | StoreError>
    /** Enables or disables an integration, or replaces its overrides, unless nothing could be retried by these. */
    readonly set: (
      id: IntegrationId,
      switches: IntegrationSwitches
    ) => Effect.Effect<SurveyedIntegration, UnknownIntegration | InvalidSwitches | StoreError>
    /**
     * Sends the newest unacknowledged delivery of a disabled integration, and returns its id. Acknowledged, it enables the
     * integration.
     */
    readonly probe: (id: IntegrationId) => Effect.Effect<DeliveryId, UnknownIntegration | NotProbed | StoreError>
  }
>()("@doorhook/core/services/OperatorIntegrations") {
  static readonly layer: Layer.Layer<
    OperatorIntegrations,
    never,
    IntegrationStore | DeliveryStore | DeliverySettings | Dispatcher | Wake
  > = Layer.effect(
    OperatorIntegrations,
    Effect.gen(function* () {
      const store = yield* IntegrationStore
      const deliveries = yield* DeliveryStore
      const { retry } = yield* DeliverySettings
      const stored = yield* makeStoredChange
      const wake = yield* Wake

      const show = Effect.fnUntraced(function* (id: IntegrationId) {
        const found = yield* store.surveyOne(id)
        return found ?? (yield* new UnknownIntegration({ id }))
      })

      const set = Effect.fnUntraced(function* (id: IntegrationId, switches: IntegrationSwitches) {
        const problems = problemsOf(switches, retry)
        if (problems.length > 0) return yield* new InvalidSwitches({ problems })
        const found = Effect.map(show(id), ({ integration }) => integration)
        yield* stored.change(found, (current) => applySwitches(current, switches))
        return yield* show(id)
      })

      const probe = Effect.fnUntraced(function* (id: IntegrationId) {
        const probing = deliveries.redeliver({ type: "probe", id }, yield* Clock.currentTimeMillis)
        const result = yield* waking(wake, probing, ({ _tag }) => _tag === "Redelivered")
        if (result._tag === "Redelivered") {
          return result.delivery_id ?? (yield* new NotProbed({ why: "nothing_to_send" }))
        }
        switch (result.why) {
          case "not_found":
          case "integration_deleted":
            return yield* new UnknownIntegration({ id })
          case "nothing_to_send":
            return yield* new NotProbed({ why: result.why })
          default:
            return yield* new NotProbed({ why: "not_disabled" })
        }
      })

      return OperatorIntegrations.of({ list: store.survey, show, set, probe })
    })
  )
}

/** What is wrong with the schedules of a change, by the lifetimes that are set for all. */
const problemsOf = (
  { overrides }: IntegrationSwitches,
  retry: DeliverySettings["Service"]["retry"]
): InvalidSwitches["problems"] =>
  Object.keys(overrides?.retry ?? {}).flatMap((type) => {
    const flaw = overrides === undefined ? null : flawOf(retryOf(retry, { overrides }, type))
    return flaw === null ? [] : [{ pointer: `/overrides/retry/${type}/${flaw.at}`, detail: flaw.detail }]
  })

const applySwitches = (current: Integration, { overrides, status }: IntegrationSwitches): Integration => ({
  ...current,
  ...(overrides !== undefined && { overrides }),
  ...(status !== undefined && switched(current, status))
})
