/** The directory file for `doorhook serve --directory` that matches a scenario. */
import type { DirectoryDocument } from "@doorhook/core"
import { outOfBandUri } from "@doorhook/core"
import type { Scenario } from "./Scenario.ts"

/** Contents of a directory file. */
export type DirectoryFile = typeof DirectoryDocument.DirectoryDocument.Encoded

/** Returns the buildings and tenants of a scenario, as a directory file lists them. */
export const buildingsAndTenants = (scenario: Scenario): Required<Pick<DirectoryFile, "buildings" | "tenants">> => ({
  buildings: scenario.buildings.map(({ building: { access_points, id, name, time_zone } }) => ({
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

/**
 * Returns the directory that a plan needs: its buildings and tenants, one client, and one user who administers all
 * buildings.
 */
export const directoryOf = (scenario: Scenario, secrets: { readonly client: string; readonly user: string }) => {
  const own = buildingsAndTenants(scenario)
  const buildings = own.buildings.map(({ id }) => id)
  return {
    clients: [
      {
        id: "simulator",
        secret: secrets.client,
        name: "Simulator",
        redirect_uris: ["http://127.0.0.1/callback", outOfBandUri]
      }
    ],
    users: [{ login: "simulator@example.com", password: secrets.user, buildings }],
    ...own
  } satisfies DirectoryFile
}
