/**
 * All migrations by number. A released migration is never changed.
 */
import { Migrator } from "effect/sql"
import { initial } from "./0001_Initial.ts"
import { previousSecrets } from "./0002_PreviousSecrets.ts"
import { grantsByUser } from "./0003_GrantsByUser.ts"
import { eventsByTime } from "./0004_EventsByTime.ts"
import { tokenEndings } from "./0005_TokenEndings.ts"
import { deliveriesInPlace } from "./0006_DeliveriesInPlace.ts"
import { numberedTokens } from "./0007_NumberedTokens.ts"

const migrations = {
  "1_initial": initial,
  "2_previous_secrets": previousSecrets,
  "3_grants_by_user": grantsByUser,
  "4_events_by_time": eventsByTime,
  "5_token_endings": tokenEndings,
  "6_deliveries_in_place": deliveriesInPlace,
  "7_numbered_tokens": numberedTokens
}

export const loader = Migrator.fromRecord(migrations)

/** The number of the newest migration. */
export const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/** The table that records the migrations that ran. */
export const table = "doorhook_migrations"
