/**
 * How the ids of a building's parts are given out.
 */
import type { AccessPoint } from "./Building.ts"

/** The first id of each kind of part. */
export interface FirstIds {
  readonly tenant: number
  readonly access_point: number
  readonly unit: number
  readonly panel: number
}

/** Where a building's ids begin unless it says otherwise: room for a thousand of each kind in every building. */
export const firstIdsOf = (building: number): FirstIds => {
  const first = building * 1_000 + 1
  return { tenant: first, access_point: first, unit: first, panel: first }
}

/** Where the ids of offices begin in a building with homes too: there are at most 400 flats with 900 tenants. */
export const secondIdsOf = ({ tenant, access_point, unit, panel }: FirstIds): FirstIds => ({
  tenant: tenant + 900,
  access_point: access_point + 900,
  unit: unit + 900,
  panel: panel + 900
})

/** Makes doors with rising ids. */
export const doorMaker = (firstId: number) => {
  let id = firstId
  return (name: string, kind: AccessPoint["kind"], options: { readonly camera: boolean }): AccessPoint => ({
    id: id++,
    name,
    kind,
    camera: options.camera
  })
}
