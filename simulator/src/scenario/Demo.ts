/**
 * The two buildings of the demo, and a directory that fits them.
 */
import { outOfBandUri } from "@doorhook/core"
import type { DirectoryFile } from "./DirectoryFile.ts"
import { buildingsAndTenants } from "./DirectoryFile.ts"
import { resolveBuilding } from "./document/Resolve.ts"
import type { BuildingDocument } from "./document/ScenarioDocument.ts"
import type { Scenario } from "./Scenario.ts"

const time_zone = "Europe/Berlin"

/** Devices that never fail: what a demo shows is live. */
const devices = { outages: { every: "0s" } }

const northTower: BuildingDocument = { name: "North Tower", time_zone, homes: { flats: 48 }, devices }

const harbourHouse: BuildingDocument = {
  name: "Harbour House",
  time_zone,
  offices: { employees: 80, companies: 5 },
  devices
}

export const demo: Scenario = {
  name: "demo",
  description: "The two buildings that `npm start` shows: a house of 48 flats, an office house of 80 employees",
  buildings: [
    ...resolveBuilding(northTower, 1, northTower.name, { tenant: 101, access_point: 11, unit: 1, panel: 1 }),
    ...resolveBuilding(harbourHouse, 2, harbourHouse.name, { tenant: 201, access_point: 21, unit: 201, panel: 21 })
  ]
}

/** The directory of the demo: who may log in, by which clients, and what they own. For demonstration only. */
export const demoDirectory: DirectoryFile = {
  clients: [
    {
      id: "demo-client",
      secret: "demo-secret",
      name: "Front Desk",
      redirect_uris: ["http://127.0.0.1/callback", outOfBandUri]
    },
    { id: "demo-app", name: "Pocket App", redirect_uris: ["http://127.0.0.1/callback"] }
  ],
  users: [
    { login: "admin@example.com", password: "correct horse", buildings: [1, 2] },
    { login: "tenant@example.com", password: "battery staple", tenants: [101] },
    { login: "neighbour@example.com", password: "battery staple", tenants: [104] },
    { login: "company@example.com", password: "battery staple", tenants: [201] }
  ],
  ...buildingsAndTenants(demo)
}
