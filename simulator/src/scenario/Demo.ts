/**
 * The two buildings of the demo, and a directory that fits them.
 */
import { outOfBandUri } from "@doorhook/core"
import { residentialBuilding } from "../world/ResidentialBuilding.ts"
import { officeBuilding } from "../world/OfficeBuilding.ts"
import type { DirectoryFile } from "./DirectoryFile.ts"
import { buildingsAndTenants } from "./DirectoryFile.ts"
import type { Scenario } from "./Scenario.ts"
import { companyFlows, companyTrades, homeFlows } from "./UsualFlows.ts"

const northTower = residentialBuilding({
  id: 1,
  name: "North Tower",
  time_zone: "Europe/Berlin",
  flats: 48,
  firstIds: { tenant: 101, access_point: 11, unit: 1, panel: 1 }
})

const harbourHouse = officeBuilding({
  id: 2,
  name: "Harbour House",
  time_zone: "Europe/Berlin",
  employees: 80,
  companies: 5,
  firstIds: { tenant: 201, access_point: 21, unit: 201, panel: 21 }
})

export const demo: Scenario = {
  name: "demo",
  description: "The two buildings that `npm start` shows: a house of 48 flats, an office house of 80 employees",
  buildings: [
    { building: northTower, flows: homeFlows(northTower) },
    { building: harbourHouse, flows: [...companyFlows(harbourHouse), companyTrades(harbourHouse)] }
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
