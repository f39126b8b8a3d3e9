/**
 * Measures the processor time of a request of `simulate run --to`, against a bare loop of `undici.request` that sends the
 * same bodies to the same server at the same rate. Usage: `sendRate.ts SENDS RATE`, with a rate of 0 for as fast as possible. Prints
 * microseconds of processor time per request as one line of JSON.
 */
import { endlessPlan, LocalTime, preset } from "@doorhook/simulator"
import {
  atPlannedTimes,
  atRate,
  lineOfArrival,
  Measurements,
  run,
  RunClock,
  serviceTarget
} from "@doorhook/simulator/testing"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { setTimeout } from "node:timers/promises"
import { Effect, Option, Redacted, Stream } from "effect"
import { request } from "undici"

const [sends = 10_000, rate = 0] = process.argv.slice(2).map(Number)

/** Number of requests open at the same time, as in `simulate run --as-fast-as-possible`. */
const inFlight = 16

/** A server that accepts every event, in a process of its own. */
const program = `const a=JSON.stringify({events:[{id:"evt_1",deliveries:1}]}),e=JSON.stringify({deliveries:[]});
const s=require("node:http").createServer((q,r)=>{q.resume();q.on("end",()=>{r.statusCode=202;r.end(q.method==="GET"?e:a)})});
s.listen(0,"127.0.0.1",()=>console.log(s.address().port))`
const server = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] })
const [port] = await once(server.stdout, "data")
const url = `http://127.0.0.1:${String(port).trim()}`

/** 2026-03-02, a Monday. */
const start = LocalTime.LocalTime.make(1_772_409_600_000)
const scenario = Option.getOrThrow(preset("office-1000"))
const beginning = 1_772_406_000_000

const events = (count: number) =>
  Stream.take(atPlannedTimes(endlessPlan(scenario, { seed: 1, start, duration: 3_650 * LocalTime.dayMillis })), count)

const bodies = await Effect.runPromise(
  Stream.runCollect(Stream.map(events(sends), (arrival) => `[${lineOfArrival(arrival).trimEnd()}]`))
)

const simulate = async (count: number): Promise<void> => {
  const stages = rate === 0 ? null : [{ from: rate / 1_000, to: rate / 1_000, length: (count * 1_000) / rate }]
  const load = stages === null ? events(count) : atRate(events(count), stages, null, beginning)
  const target = serviceTarget({ url, operatorKey: Redacted.make("key") })
  const clock = new RunClock(beginning, rate === 0 ? null : 1)
  const measurements = new Measurements()
  await Effect.runPromise(
    run(load, { target, clock, maxInFlight: rate === 0 ? inFlight : 1_000, batch: 1 }, measurements)
  )
  if (measurements.totals.accepted !== count)
    throw new Error(`${measurements.totals.accepted} of ${count} were accepted`)
}

const post = async (nth: number): Promise<void> => {
  const headers = { "content-type": "application/json", "idempotency-key": "key", authorization: "Bearer key" }
  const answer = await request(`${url}/operator/events`, { method: "POST", headers, body: bodies[nth] ?? "" })
  await answer.body.text()
}

const bare = async (count: number): Promise<void> => {
  let next = 0
  const loop = async (): Promise<void> => {
    while (next < count) await post(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, loop))
}

/** Sends at the rate. A request that has to be woken up for costs several times as much, also in the bare loop. */
const barePaced = async (count: number): Promise<void> => {
  const began = Date.now()
  const sent: Array<Promise<void>> = []
  for (let nth = 0; nth < count; nth++) {
    const wait = began + Math.ceil((nth * 1_000) / rate) - Date.now()
    if (wait > 0) await setTimeout(wait)
    sent.push(post(nth))
  }
  await Promise.all(sent)
}

/** Microseconds of processor time per request, after a warm-up. */
const costOf = async (send: (count: number) => Promise<void>): Promise<number> => {
  await send(Math.ceil(sends / 4))
  const before = process.cpuUsage()
  await send(sends)
  const { system, user } = process.cpuUsage(before)
  return (system + user) / sends
}

const [ours, peer] = [await costOf(simulate), await costOf(rate === 0 ? bare : barePaced)]
server.kill()
process.stdout.write(JSON.stringify({ ours, peer }))
process.exit(0)
