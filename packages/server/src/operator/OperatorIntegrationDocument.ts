/**
 * Integrations as the operator sees them: whose, where to, how they fail, what is set for them. Never a secret.
 */
import { Binding, DisabledReason, isoOf, OverridesDocument, writeOverrides } from "@doorhook/core"
import type { CatchingUp, DispatcherStatus, SurveyedIntegration, UnreadableIntegration } from "@doorhook/core"
import { Schema } from "effect"
import { OperatorScope } from "./OperatorScope.ts"

export const OperatorIntegrationDocument = Schema.Struct({
  id: Schema.String,
  scope: OperatorScope,
  url: Schema.String,
  bindings: Schema.Array(Binding),
  status: Schema.Literals(["enabled", "disabled"]),
  disabled_reason: Schema.NullOr(DisabledReason),
  /** Since when nothing was acknowledged, and how many notices were given of it; null when it does not fail. */
  failing: Schema.NullOr(Schema.Struct({ since: Schema.String, notices: Schema.Finite })),
  /** Since when the process that answers sends its waiting retries early, because it acknowledges again; null when not. */
  catching_up: Schema.NullOr(Schema.Struct({ since: Schema.String })),
  /** Where its deliveries differ from the others'. */
  overrides: Schema.toEncoded(OverridesDocument),
  /** ISO 8601 UTC, as all times. */
  created_at: Schema.String,
  updated_at: Schema.String
})
export type OperatorIntegrationDocument = typeof OperatorIntegrationDocument.Type

export const UnreadableIntegrationDocument = Schema.Struct({
  id: Schema.String,
  scope: OperatorScope,
  /** What is wrong with its row. */
  why: Schema.String
})

export const unreadableIntegrationDocument = ({
  id,
  scope,
  unreadable
}: UnreadableIntegration): typeof UnreadableIntegrationDocument.Type => ({ id: String(id), scope, why: unreadable })

/** Whether a dispatcher sends the waiting retries of an integration early; null when not. */
export const catchingUpOf = (
  { catching_up }: Pick<DispatcherStatus, "catching_up">,
  { id }: Pick<SurveyedIntegration["integration"], "id">
): CatchingUp | null => catching_up.find(({ integration_id }) => integration_id === id) ?? null

export const operatorIntegrationDocument = (
  { failing, integration }: SurveyedIntegration,
  catchingUp: CatchingUp | null
): OperatorIntegrationDocument => ({
  id: String(integration.id),
  scope: integration.scope,
  url: integration.configuration.url,
  bindings: integration.bindings,
  status: integration.status,
  disabled_reason: integration.disabled_reason,
  failing: failing === null ? null : { since: isoOf(failing.since), notices: failing.noticed },
  catching_up: catchingUp === null ? null : { since: isoOf(catchingUp.since) },
  overrides: writeOverrides(integration.overrides),
  created_at: isoOf(integration.created_at),
  updated_at: isoOf(integration.updated_at)
})
