/**
 * Explains why an integration did not get an event: the answer to "why didn't partner X get event Y?".
 */
import type { EventId } from "../model/Ids.ts"
import type { Event } from "../model/Event.ts"
import { eventIdPrefix } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { scopeText } from "../model/Integration.ts"
import type { Sentence } from "../model/Sentences.ts"
import { say } from "../model/Sentences.ts"
import { bindingCovers, scopeSees } from "../model/Matcher.ts"

/** Why an integration has no delivery of an event. */
export const missingVerdicts = [
  "never_published",
  "no_longer_retained",
  "created_later",
  "other_building",
  "no_binding",
  "changed_later"
] as const
export type MissingVerdict = (typeof missingVerdicts)[number]

/** A verdict in words. */
export interface MissingDelivery {
  readonly verdict: MissingVerdict
  readonly why: Sentence
}

/** Returns when the id of an event was generated, in milliseconds since the epoch. */
const publishedAt = (id: EventId): number =>
  Number.parseInt(id.slice(eventIdPrefix.length, eventIdPrefix.length + 9), 36)

/**
 * Explains why an event is not stored. Its id contains its time, which shows whether `retention` (in milliseconds; null:
 * kept without end) has deleted it.
 */
export const explainUnknownEvent = (id: EventId, now: number, retention: number | null): MissingDelivery => {
  const time = publishedAt(id)
  return retention !== null && time < now - retention && time > 0
    ? { verdict: "no_longer_retained", why: say("missing_no_longer_retained", { time: { time } }) }
    : { verdict: "never_published", why: say("missing_never_published", { id }) }
}

const boundTypes = ({ bindings }: Pick<Integration, "bindings">): string =>
  bindings.map(({ actions, resource_type }) => `${resource_type} (${actions.join(", ")})`).join(", ")

/** Explains why an integration has no delivery of a stored event. */
export const explainMissing = (
  event: Pick<Event, "resource_type" | "action" | "building_id" | "tenant_ids" | "created_at">,
  integration: Pick<Integration, "scope" | "bindings" | "created_at" | "updated_at">
): MissingDelivery => {
  const { bindings, created_at, scope, updated_at } = integration
  if (!scopeSees(scope, event)) {
    const tenants = event.tenant_ids.length === 0 ? "" : `, ${event.tenant_ids.map((id) => `tenant ${id}`).join(", ")}`
    const values = { scope: scopeText(scope), of: `building ${event.building_id}${tenants}` }
    return { verdict: "other_building", why: say("missing_other_building", values) }
  }
  if (created_at > event.created_at) {
    return { verdict: "created_later", why: say("missing_created_later", { time: { time: created_at } }) }
  }
  if (!bindings.some((binding) => bindingCovers(binding, event))) {
    const values = { type: event.resource_type, action: event.action, bound: boundTypes(integration) }
    return { verdict: "no_binding", why: say("missing_no_binding", values) }
  }
  return { verdict: "changed_later", why: say("missing_changed_later", { time: { time: updated_at } }) }
}
