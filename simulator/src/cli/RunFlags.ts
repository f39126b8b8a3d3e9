/**
 * The flags of `simulate run`.
 */
import { Flag } from "effect/cli"
import { receiverForms } from "../receivers/ReceiverText.ts"
import { planFlags } from "./Flags.ts"

/** Where the operator key is looked for when no flag says it. */
export const keyVariable = "DOORHOOK_OPERATOR_KEY"

/** What is used where a flag is not given. */
export const usual = {
  buildings: "1",
  "building-integrations": "1",
  "tenant-integrations": "2",
  "max-inflight": "1",
  "dup-rate": "0",
  reorder: "0",
  late: "0",
  "ack-timeout": "5s",
  workers: "1",
  database: "memory",
  seeds: "1",
  drain: "4d",
  grace: "30s"
} as const

const text = (name: string, description: string) => Flag.String(name).pipe(Flag.withDescription(description))
const optional = (name: string, description: string) => Flag.optional(text(name, description))
const usually = (name: keyof typeof usual, description: string) =>
  Flag.withDefault(text(name, `${description} (default ${usual[name]})`), usual[name])
const repeated = (name: string, description: string) => Flag.atLeast(text(name, description), 0)

export const runFlags = {
  ...planFlags,
  buildings: usually("buildings", "How many times over the scenario's buildings exist"),
  buildingIntegrations: usually("building-integrations", "Integrations of each building"),
  tenantIntegrations: usually("tenant-integrations", "Tenants of each building that have an integration of their own"),
  to: optional("to", "Publish to this doorhook service, and ask it what became of each event"),
  toReceiver: optional("to-receiver", "Deliver to this URL with doorhook's own sender: signed, retried"),
  virtual: Flag.Boolean("virtual").pipe(
    Flag.withDescription("On virtual time: traffic, the real engine and modelled receivers, as fast as they compute"),
    Flag.withDefault(false)
  ),
  speed: optional("speed", "How many times faster than the plan, like 60x (default 1x)"),
  asFastAsPossible: Flag.Boolean("as-fast-as-possible").pipe(
    Flag.withDescription("Keep no schedule: publish as fast as it is taken"),
    Flag.withDefault(false)
  ),
  maxInFlight: usually(
    "max-inflight",
    "Requests to publish open at once; with more than 1, batches may overtake each other"
  ),
  dupRate: usually("dup-rate", "Share of events that are published twice, like 0.02 or 2%"),
  reorder: usually(
    "reorder",
    "Share of events that come out of order, by up to half a minute, of those that are not late"
  ),
  late: usually("late", "Share of events that come minutes or hours late, as from a controller that was offline"),
  receiver: repeated(
    "receiver",
    `How a modelled receiver behaves, repeatable: ${receiverForms.join(" / ")}; before it 2= or 10%= for some`
  ),
  retry: repeated("retry", "Delays between attempts, like access_log=5s,30s; nothing after = is no retry; repeatable"),
  ackTimeout: usually("ack-timeout", "How long a receiver has to acknowledge"),
  crashEvery: optional("crash-every", "Virtual: kill the engine this often, in the middle of something"),
  deleteEvery: optional("delete-every", "Virtual: delete an integration this often, and make another one"),
  workers: usually("workers", "Virtual: processes that deliver over one store"),
  database: usually("database", "Virtual: memory, or a new SQLite file"),
  seeds: usually("seeds", "Virtual: run this many seeds, one after the other; reports are of the first"),
  drain: usually("drain", "Virtual: how long what is open at the end of the plan may go on"),
  grace: usually("grace", "How long to wait for what is open at the end, or after Ctrl-C"),
  slo: repeated("slo", "Objectives, like ack_p99<5s,lost=0,rate>=95%; missed ones make the exit code 1"),
  report: repeated("report", "Files to write: html=FILE,json=FILE,csv=FILE"),
  secret: Flag.Redacted("secret").pipe(
    Flag.withDescription("The receiver's signing secret (whsec_...); also from DOORHOOK_RECEIVER_SECRET"),
    Flag.optional
  ),
  operatorKey: Flag.Redacted("operator-key").pipe(
    Flag.withDescription(`The service's operator key; also from ${keyVariable} or --operator-key-file`),
    Flag.optional
  ),
  operatorKeyFile: optional("operator-key-file", "A file that holds the operator key")
}

/** What the flags were given. */
export type RunTexts = {
  readonly [Name in keyof typeof runFlags]: (typeof runFlags)[Name] extends Flag.Flag<infer A> ? A : never
}
