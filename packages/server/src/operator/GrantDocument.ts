/**
 * What a user has granted to a client, as the operator sees it.
 */
import { isoOf } from "@doorhook/core"
import type { NamedGrant } from "@doorhook/core"
import { Schema } from "effect"

export const GrantDocument = Schema.Struct({
  id: Schema.String,
  client_id: Schema.String,
  /** What the client is called; null where there is none of that id any more. */
  client_name: Schema.NullOr(Schema.String),
  scope: Schema.String,
  /** When the user logged in for it. */
  created_at: Schema.String
})
export type GrantDocument = typeof GrantDocument.Type

export const grantDocument = ({ client_name, grant }: NamedGrant): GrantDocument => ({
  id: grant.id,
  client_id: grant.client_id,
  client_name,
  scope: grant.scope,
  created_at: isoOf(grant.created_at)
})
