import { createServer } from "node:http"
import { createDoorhook, DoorhookError, sqlDirectory } from "doorhook"
import type {
  DeliveryAttempt,
  DeliverySummary,
  Doorhook,
  DoorhookNotification,
  DoorhookOptions,
  IntegrationSummary
} from "doorhook"
import { layer } from "doorhook/effect"
import { Publisher } from "@doorhook/core"
import { createReceiver, sqliteStore } from "@doorhook/receiver"
import type { Problem } from "@doorhook/receiver"
import { DatabaseSync } from "node:sqlite"
const receiver = createReceiver({
  secrets: ["whsec_ZG9vcmhvb2s="],
  store: sqliteStore(new DatabaseSync(":memory:")),
  record: (database, { id }) => void database.prepare("SELECT ?").get(id),
  parts: ({ admit }) => ({ admit })
})
createServer(receiver.node)
// @ts-expect-error: there is no such kind
const kind: Problem["kind"] = "lost"
export { kind }
const options: DoorhookOptions = {
  database: "memory",
  directory: { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false },
  retry: { access_log: ["5s"] },
  ackTimeout: "5s"
}
const doorhook: Doorhook = await createDoorhook(options)
const { deliveries }: { readonly deliveries: number } = await doorhook.publish({
  resource_type: "call",
  action: "create",
  building_id: 1,
  data: { id: 1 }
})
// @ts-expect-error: there is no such option
const wrong: DoorhookOptions = { ...options, ackTimeuot: "5s" }
createServer(doorhook.node)
await doorhook.deliveries.list({ state: ["exhausted", "expired"] })
const ended: ReadonlyArray<DeliverySummary["state"]> = ["delivered", "skipped"]
// @ts-expect-error: there is no such state
const state: DeliverySummary["state"] = "lost"
// @ts-expect-error: there is no such outcome
const outcome: DeliveryAttempt["outcome"] = "refused"
// Every state has its own text, without an index signature that would accept any string.
const explained: Record<DeliverySummary["state"], string> = {
  pending: "",
  delivering: "",
  retrying: "",
  delivered: "",
  exhausted: "",
  expired: "",
  cancelled: "",
  skipped: ""
}
const outcomes: Record<DeliveryAttempt["outcome"], string> = {
  acknowledged: "",
  bad_status: "",
  timeout: "",
  connection_refused: "",
  connection_reset: "",
  dns: "",
  tls: "",
  blocked_address: "",
  invalid_response: ""
}
const statuses: Record<IntegrationSummary["status"], string> = { enabled: "", disabled: "" }
const kinds: Record<DoorhookNotification["kind"], string> = {
  failing: "",
  disabled: "",
  recovered: "",
  exhausted: "",
  retention_paused: "",
  clock_offset: ""
}
export { ended, explained, kinds, outcome, outcomes, state, statuses }
export { deliveries, DoorhookError, layer, Publisher, sqlDirectory, wrong }
