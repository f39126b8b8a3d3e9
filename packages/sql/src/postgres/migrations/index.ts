/**
 * All migrations by number. A released migration is never changed.
 */
import { Migrator } from "effect/sql"
import { initial } from "./0001_Initial.ts"
import { previousSecrets } from "./0002_PreviousSecrets.ts"
import { endings } from "./0003_Endings.ts"
import { publishLock } from "./0004_PublishLock.ts"
import { grantsByUser } from "./0005_GrantsByUser.ts"
import { eventsByTime } from "./0006_EventsByTime.ts"
import { tokenEndings } from "./0007_TokenEndings.ts"
import { textIds } from "./0008_TextIds.ts"
import { resourceTypesTable } from "./0009_ResourceTypes.ts"
import { workerLeases } from "./0010_WorkerLeases.ts"
import { numberedTokens } from "./0011_NumberedTokens.ts"
import { publishUnblocked } from "./0012_PublishUnblocked.ts"

const migrations = {
  "1_initial": initial,
  "2_previous_secrets": previousSecrets,
  "3_endings": endings,
  "4_publish_lock": publishLock,
  "5_grants_by_user": grantsByUser,
  "6_events_by_time": eventsByTime,
  "7_token_endings": tokenEndings,
  "8_text_ids": textIds,
  "9_resource_types": resourceTypesTable,
  "10_worker_leases": workerLeases,
  "11_numbered_tokens": numberedTokens,
  "12_publish_unblocked": publishUnblocked
}

export const loader = Migrator.fromRecord(migrations)

/** The number of the newest migration. */
export const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/** The table that records the migrations that ran, in doorhook's schema. */
export const table = "migrations"
