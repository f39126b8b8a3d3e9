/**
 * Whether a receiver may see an event and asked for it. Core's own rule is under test: this is the same rule written once
 * more, from the document (section 6, rule 1).
 */
import type { Event, Integration } from "@doorhook/core"

export const maySee = (
  { bindings, scope }: Pick<Integration, "bindings" | "scope">,
  { building_id, resource_type, tenant_ids }: Pick<Event, "building_id" | "resource_type" | "tenant_ids">
): boolean =>
  (scope.type === "building" ? [building_id] : tenant_ids).some((id) => Number(id) === Number(scope.id)) &&
  bindings.some((binding) => binding.resource_type === resource_type)
