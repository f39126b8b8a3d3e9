/** `simulate size`: estimates what a service for many buildings needs, from a sample of them. */
import { columns, CommandFailure, defaultDeliverySettings, IntegrationId, Transport } from "@doorhook/core"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Clock, Console, Context, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { PlanOptions } from "../plan/Plan.ts"
import { forEachRecord } from "../plan/Plan.ts"
import { plannedEvent } from "../plan/PlannedEvent.ts"
import { exp } from "../random/Arithmetic.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import { modelFor, readReceiver, receiverForms } from "../receivers/ReceiverText.ts"
import { counted, grouped } from "../results/Format.ts"
import { Matcher, plannedIntegrations, premisesOf } from "../run/Integrations.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { demo } from "../scenario/Demo.ts"
import { dayMillis, minute } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import { anywhere, Equipment } from "./Destination.ts"
import { planFlags, readEach, readOr, readPlan, wholeBetween, wholeNumber } from "./Flags.ts"

/** Number of buildings in the sample, and its length: a whole week, so that it has the busiest hour. */
const sampled = 32
const week = 7 * dayMillis

/** Length of the intervals among which the busiest is looked for. */
const bin = 10 * minute

/** Most buildings to estimate for. */
const most = 100_000_000

/** What the documentation states, on two cores that sender, receiver and database share. */
const documented = {
  /** `deliver-peers` in docs/measurements.md: deliveries per second of one process. */
  perSecond: { PostgreSQL: 7_091, SQLite: 9_226 },
  /** `deliver-postgres` and `deliver-sqlite`: share of the rate of a bare loop that sends the same requests. */
  ofBareLoop: { PostgreSQL: 0.694, SQLite: 0.869 },
  /** `deliver-cpu`: milliseconds of processor time per delivery at a low rate, database included. */
  cpu: 1.22,
  /** The table of docs/scale-out.md: bytes per row with indexes. An event also has its data. */
  eventRow: 300,
  scopeRow: 140,
  deliveryRow: 230,
  databaseConnections: 10
} as const

/** Share of its highest rate that a process should use at the peak, so that retries and catching up have room. */
const highestUse = 0.5

/** Milliseconds of `--measure`, and requests open at the same time. */
const measuring = 20_000
const openRequests = 64

const sampleOf = Effect.fnUntraced(function* (
  scenario: Scenario,
  options: PlanOptions,
  ofTenants: number,
  own: number
) {
  const matcher = new Matcher()
  for (const { place, scope } of plannedIntegrations(premisesOf(scenario), ofTenants, own))
    matcher.add(scope, IntegrationId.make(place))
  const zone = scenario.sites[0]?.time_zone ?? "UTC"
  const bins = new Map<number, { events: number; deliveries: number }>()
  const totals = { events: 0, calls: 0, deliveries: 0, bytes: 0 }
  yield* forEachRecord(scenario, options, (record) => {
    const { data, tenant_ids } = plannedEvent(record)
    const deliveries = matcher.matching(record.occurrence).size
    const place = Math.floor((record.at + offsetAt(record.at, zone)) / bin)
    const counts = bins.get(place) ?? { events: 0, deliveries: 0 }
    bins.set(place, counts)
    counts.events++
    counts.deliveries += deliveries
    totals.events++
    totals.deliveries += deliveries
    totals.bytes +=
      JSON.stringify(data).length +
      documented.eventRow +
      documented.scopeRow * (1 + tenant_ids.length) +
      documented.deliveryRow * deliveries
    if (record.occurrence._tag === "Call") totals.calls++
  })
  const busiest = [...bins].toSorted(([, a], [, b]) => b.events - a.events)[0]
  const [at = 0, peak = { events: 0, deliveries: 0 }] = busiest ?? []
  return { ...totals, peak: { ...peak, at: at * bin } }
})

/** A receiver in another process, which only acknowledges. */
const receiverProgram = `const s=require("node:http").createServer((q,r)=>{q.resume();q.on("end",()=>r.end())});s.listen(0,"127.0.0.1",()=>console.log(s.address().port))`

/** Measures how many requests per second doorhook's transport sends from this process, without an engine. */
const measuredRate = Effect.gen(function* () {
  const equipment = yield* Equipment
  if (equipment === null) return yield* CommandFailure.usage("--measure: this program has no network transport")
  const transport = Context.get(yield* Layer.build(equipment.transport), Transport)
  const receiver = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["-e", receiverProgram], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill())
  )
  const [port] = yield* Effect.promise(() => once(receiver.stdout, "data"))
  const url = `http://127.0.0.1:${String(port).trim()}/hook`
  const request = {
    url,
    headers: { "content-type": "application/json" },
    body: "x".repeat(400),
    deadline: 5_000,
    allow: anywhere,
    client: "size"
  }
  const began = yield* Clock.currentTimeMillis
  let answered = 0
  const loop = Effect.gen(function* () {
    while ((yield* Clock.currentTimeMillis) - began < measuring) {
      const result = yield* Effect.orDie(transport.post(request))
      if (result._tag === "Answered") answered++
    }
  })
  yield* Effect.all(
    Array.from({ length: openRequests }, () => loop),
    { concurrency: openRequests, discard: true }
  )
  return (answered * 1_000) / ((yield* Clock.currentTimeMillis) - began)
}).pipe(Effect.scoped)

type Line = readonly [what: string, value: string, from: string]

const rounded = (value: number): string =>
  value < 10 ? `${Math.round(value * 10) / 10}` : grouped(Number(value.toPrecision(3)))

const bytesText = (bytes: number): string => {
  const units = ["bytes", "KB", "MB", "GB", "TB"]
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  return `${rounded(bytes / 1_000 ** power)} ${units[power]}`
}

const clockOf = (wall: number): string => {
  const text = new Date(wall).toUTCString()
  return `${text.slice(0, 3)} ${text.slice(17, 22)}`
}

/** Basis of an estimate. */
interface Basis {
  readonly count: number
  /** How many times the sample has the scenario's buildings. */
  readonly copies: number
  readonly scenario: Scenario
  readonly sample: Effect.Success<ReturnType<typeof sampleOf>>
  readonly rules: ReadonlyArray<ReceiverRule>
  /** Requests per second that this machine sends; null for documented figures. */
  readonly rate: number | null
}

const linesOf = ({ copies, count, rate, rules, sample, scenario }: Basis): ReadonlyArray<Line> => {
  const factor = count / copies
  const from = `a week of ${scenario.sites.length} of these buildings`
  const perSecond = (own: number) => (own * factor * 1_000) / bin
  const [events, deliveries] = [perSecond(sample.peak.events), perSecond(sample.peak.deliveries)]
  const model = modelFor(rules, 1)
  const latency = model.latency.median * exp((model.latency.sigma * model.latency.sigma) / 2)
  const open = (deliveries * latency) / 1_000
  const highest = rate === null ? documented.perSecond.PostgreSQL : rate * documented.ofBareLoop.PostgreSQL
  const processes = Math.max(
    1,
    Math.ceil(deliveries / (highest * highestUse)),
    Math.ceil(open / defaultDeliverySettings.concurrency)
  )
  const perProcess = `${rounded(highest)} deliveries/s for each, half used`
  const rateFrom =
    rate === null
      ? `${perProcess}: deliver-peers of docs/measurements.md, two cores shared with the database`
      : `${perProcess}: ${rounded(rate)} bare requests/s measured here, times ${documented.ofBareLoop.PostgreSQL} (deliver-postgres of docs/measurements.md)`
  const days = week / dayMillis
  const capacity = model.capacity === null ? null : (model.capacity.workers * 1_000) / latency
  const isShared = rules.some((rule) => rule.isShared)
  return [
    ["what", "value", "from"],
    ["events a day", rounded((sample.events * factor) / days), from],
    ["peak events/s", rounded(events), `its busiest ten minutes, ${clockOf(sample.peak.at)} local time`],
    ["peak deliveries/s", rounded(deliveries), "the same, times the integrations that match"],
    [
      "calls",
      `${rounded((sample.calls / Math.max(1, sample.events)) * 100)} %`,
      "share of the events; they overtake access logs"
    ],
    [
      "open requests",
      rounded(open),
      `deliveries/s × ${Math.round(latency)} ms, the mean latency of the receivers (--receiver)`
    ],
    ["processes", `${processes}`, rateFrom],
    [
      "cores",
      rounded((deliveries * documented.cpu) / 1_000),
      `at most, database included: ${documented.cpu} ms per delivery at a low rate, deliver-cpu; about a quarter of that at a high rate`
    ],
    [
      "connections",
      `${rounded(Math.max(open, 1))} to receivers, ${processes * documented.databaseConnections} to the database`,
      "one for each open request; ten for each process (docs/scale-out.md)"
    ],
    [
      "disk a day",
      bytesText((sample.bytes * factor) / days),
      "bytes of the sample's data and rows with indexes (docs/scale-out.md); kept for 90 days by default"
    ],
    [
      "an hour's outage",
      `${rounded(deliveries * 3_600)} deliveries`,
      "deliveries that wait if all receivers are down for an hour at the peak"
    ],
    ...(capacity === null
      ? []
      : [
          [
            isShared ? "shared endpoint" : "each endpoint",
            `${rounded(capacity)} requests/s`,
            `its workers and latency; the peak brings ${rounded(isShared ? deliveries : deliveries / Math.max(1, count))}${isShared && capacity < deliveries ? ": TOO SMALL" : ""}`
          ] as const
        ])
  ]
}

export const sizeCommand = Command.make(
  "size",
  {
    ...planFlags,
    buildings: Flag.String("buildings").pipe(
      Flag.withDescription(`How many times the scenario's buildings exist, up to ${most}`)
    ),
    buildingIntegrations: Flag.String("building-integrations").pipe(
      Flag.withDescription("Integrations of each building (default 1)"),
      Flag.withDefault("1")
    ),
    tenantIntegrations: Flag.String("tenant-integrations").pipe(
      Flag.withDescription("Tenants of each building that have their own integration (default 2)"),
      Flag.withDefault("2")
    ),
    receiver: Flag.String("receiver").pipe(
      Flag.withDescription(`Behaviour of the receivers, repeatable: ${receiverForms.join(" / ")}`),
      Flag.atLeast(0)
    ),
    measure: Flag.Boolean("measure").pipe(
      Flag.withDescription(`Measure this machine for ${measuring / 1_000} s instead of using the documented figures`),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ buildings, measure, ...texts }) {
    const count = yield* readOr(
      Option.filter(wholeNumber(buildings), (own) => own >= 1 && own <= most),
      "buildings",
      buildings,
      `a whole number from 1 to ${most}`
    )
    const once = yield* readPlan({ ...texts, buildings: "1" })
    const copies =
      once.scenario.name === demo.name ? 1 : Math.min(count, Math.ceil(sampled / once.scenario.sites.length))
    const { options, scenario } = yield* readPlan({ ...texts, buildings: `${copies}` })
    const ofBuilding = yield* wholeBetween("building-integrations", texts.buildingIntegrations, 0, 100)
    const ofTenants = yield* wholeBetween("tenant-integrations", texts.tenantIntegrations, 0, 1_000)
    const rules = yield* readEach("receiver", texts.receiver, readReceiver)
    const sample = yield* sampleOf(scenario, { ...options, duration: week }, ofTenants, ofBuilding)
    const rate = measure ? yield* measuredRate : null
    yield* Console.log(
      `${grouped(count)} × ${once.scenario.name}, ${counted(ofBuilding, "integration")} of each building and ${grouped(ofTenants)} of its tenants\n`
    )
    yield* Console.log(columns(linesOf({ copies, count, scenario, sample, rules, rate }), [1]).join("\n"))
  })
).pipe(
  Command.withDescription("Estimate what a service for this many buildings needs: rates, processes, connections, disk"),
  Command.withExamples([
    {
      command: "doorhook simulate size --buildings 250000 --preset residential-200",
      description: "A service for a quarter of a million houses"
    },
    {
      command: "doorhook simulate size --buildings 2000 --preset office-1000 --receiver 'shared,workers:40,queue:200'",
      description: "Whether the endpoint of a partner is large enough"
    }
  ])
)
