/**
 * The directory file of a service (`--directory`), as far as a scenario can fill it.
 */
import type { DirectoryDocument } from "@doorhook/core"
import type { Scenario } from "./Scenario.ts"

/** A directory as it is written in the file. */
export type DirectoryFile = typeof DirectoryDocument.DirectoryDocument.Encoded

/** The buildings and tenants of a scenario, as a directory lists them. */
export const buildingsAndTenants = (scenario: Scenario): Required<Pick<DirectoryFile, "buildings" | "tenants">> => ({
  buildings: scenario.buildings.map(({ building: { id, name, time_zone, access_points } }) => ({
    id,
    name,
    time_zone,
    access_points: access_points.map((door) => ({ id: door.id, name: door.name }))
  })),
  tenants: scenario.buildings.flatMap(({ building }) =>
    building.units.flatMap(({ id, label, tenant_ids }) =>
      tenant_ids.map((tenant) => ({ id: tenant, building_id: building.id, unit: { id, label } }))
    )
  )
})
