/** The two buildings of the demo, and a matching directory. */
import { outOfBandUri } from "@doorhook/core"
import { Schema } from "effect"
import document from "./demo.json" with { type: "json" }
import type { DirectoryFile } from "./Directory.ts"
import { buildingsAndTenants } from "./Directory.ts"
import { sitesOf } from "./Resolve.ts"
import type { Scenario } from "./Scenario.ts"
import { ScenarioDocument } from "./ScenarioDocument.ts"

const { buildings, description, name } = Schema.decodeUnknownSync(ScenarioDocument)(document)

/** First ids of each building, chosen to be easy to remember. */
const firstIds = [
  { tenant: 101, access_point: 11, unit: 1, panel: 1 },
  { tenant: 201, access_point: 21, unit: 201, panel: 21 }
]

export const demo: Scenario = {
  name,
  description,
  sites: buildings.map((building, index) => sitesOf(building)(index + 1, building.name, firstIds[index])),
  events_per_day: null
}

/** The directory of the demo: clients, logins, and the buildings and tenants of each login. For demonstration only. */
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
