/**
 * The workload of all contenders: events of about 420 bytes for 16 integrations, signed at each attempt.
 */
import type { NewEvent } from "@doorhook/core"
import { BuildingId, JsonText, TenantId } from "@doorhook/core"
import { temporaryFolder } from "@doorhook/testkit/Process"
import type { Scope } from "effect"
import { Effect } from "effect"
import { join } from "node:path"

/** A new database file, which is removed with the scope. */
export const temporaryDatabase: Effect.Effect<string, never, Scope.Scope> = Effect.map(temporaryFolder, (folder) =>
  join(folder, "bench.db")
)

export const integrationCount = 16
export const openRequests = 64

const padding = "x".repeat(200)

/** Returns event number `n`. */
export const eventOf = (n: number): NewEvent => ({
  resource_type: "access_log",
  action: "create",
  building_id: BuildingId.make((n % integrationCount) + 1),
  tenant_ids: [TenantId.make((n % 100) + 1)],
  data: JsonText.JsonText.make(
    JSON.stringify({
      id: n,
      logged_at: "2026-03-02T07:00:00.000Z",
      access_point: 11,
      entry_method: "app",
      release_status: "Unlocked",
      name: "A. Person",
      image_url: `https://snapshots.example/${padding}.jpg`
    })
  )
})

/** Returns event number `n` in a given building. */
export const eventIn = (building: number, n: number): NewEvent => ({
  ...eventOf(n),
  building_id: BuildingId.make(building)
})

export const signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** Returns call number `n`. Calls are urgent, unlike access logs. */
export const callOf = (n: number): NewEvent => ({
  resource_type: "call",
  action: "create",
  building_id: BuildingId.make((n % integrationCount) + 1),
  tenant_ids: [],
  data: JsonText.JsonText.make(`{"id":${n}}`)
})
