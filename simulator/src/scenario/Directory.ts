/**
 * The directory file of a service (`--directory`) that fits a scenario.
 */
import type { DirectoryDocument } from "@doorhook/core"
import { outOfBandUri } from "@doorhook/core"
import type { Scenario } from "./Scenario.ts"

/** A directory as it is written in the file. */
export type DirectoryFile = typeof DirectoryDocument.DirectoryDocument.Encoded

/** The buildings and tenants of a scenario, as a directory lists them. */
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

/** The directory that a plan needs: its buildings and tenants, one client, and one user who administers them all. */
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
