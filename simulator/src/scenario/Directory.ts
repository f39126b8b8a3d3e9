/** The directory file for `doorhook serve --directory` that matches a scenario. */
import type { DirectoryDocument } from "@doorhook/core"
import { outOfBandUri } from "@doorhook/core"
import type { Scenario } from "./Scenario.ts"

/** Contents of a directory file. */
export type DirectoryFile = typeof DirectoryDocument.DirectoryDocument.Encoded

/** The buildings and tenants of a directory. */
export type Places = Required<Pick<DirectoryFile, "buildings" | "tenants">>

/** Returns the buildings and tenants of a scenario, as a directory file lists them. */
export const buildingsAndTenants = ({ sites }: Scenario): Places => {
  const parts = sites.map(({ traffic }) => {
    const { access_points, id, name, time_zone, units } = traffic().building
    return {
      building: { id, name, time_zone, access_points: access_points.map((door) => ({ id: door.id, name: door.name })) },
      tenants: units.flatMap((unit) =>
        unit.tenant_ids.map((tenant) => ({ id: tenant, building_id: id, unit: { id: unit.id, label: unit.label } }))
      )
    }
  })
  return { buildings: parts.map(({ building }) => building), tenants: parts.flatMap(({ tenants }) => tenants) }
}

/**
 * Returns a directory of these buildings and tenants, with one client and one user who administers all buildings.
 */
export const directoryOf = (own: Places, secrets: { readonly client: string; readonly user: string }) => {
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
