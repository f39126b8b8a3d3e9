/**
 * The probe of a receiver that answers `GET {probe}?id=WEBHOOK_ID` with `{"effects": n}`, and if it likes with `digest`
 * (`sha256:HEX` of the RFC 8785 form of the data) and `data` (what is stored).
 */
import { Effect, Schedule, Schema } from "effect"
import { detailOf } from "../evidence/Exchange.ts"
import { ask, keptConnections } from "../http/Wire.ts"
import type { Probe, ProbeReading, Subject } from "./Probe.ts"
import { ProbeUnusable, readReading } from "./Probe.ts"

const decode = Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))

/** How long the probe may take in all, in milliseconds. */
const patience = 10_000
/** How many questions are asked at once. */
const concurrency = 8
/**
 * A receiver that was just started may not listen yet, and one that has ended has closed the connections that were kept:
 * the question is repeated for about three seconds.
 */
const whileStarting = { schedule: Schedule.exponential(50), times: 6 }

const urlOf = (base: URL, { endpoint, webhookId }: Subject): URL => {
  const url = new URL(base)
  url.searchParams.set("id", webhookId)
  if (endpoint !== null) url.searchParams.set("endpoint", endpoint)
  return url
}

const unusable = (base: URL, what: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The probe ${base.origin}${base.pathname} ${what}. It must answer GET ?id=... with 200 and {"effects": n}, with 0 for an unknown id.`
  })

/** What was asked and answered. Values of the probe's own query may be secrets. */
const refused = (base: URL, { endpoint, webhookId }: Subject, status: number): ProbeUnusable => {
  const asked = `${base.origin}${base.pathname}?${base.search === "" ? "" : "...&"}id=${webhookId}${endpoint === null ? "" : "&endpoint=..."}`
  return new ProbeUnusable({
    message: `GET ${asked} was answered with ${status}. Expected: 200 and {"effects": n}, how often this event took effect${
      status === 404
        ? `; {"effects": 0}, not 404, for an event that it does not know. Correct --probe if nothing is served at ${base.pathname}, or the probe if it answers 404 for unknown events.`
        : `, with 0 for an unknown one. Ask it by hand to see why.`
    }`
  })
}

export const httpProbe = (base: URL): Probe => {
  const connections = keptConnections(base, concurrency)
  const read = Effect.fnUntraced(function* (subject: Subject): Effect.fn.Return<ProbeReading, ProbeUnusable> {
    const { body, status } = yield* ask(urlOf(base, subject), "GET", patience, connections).pipe(
      Effect.mapError((error) => unusable(base, `could not be asked (${detailOf(error)})`)),
      Effect.retry(whileStarting),
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(unusable(base, `did not answer within ${patience} ms`))
      })
    )
    if (status !== 200) return yield* refused(base, subject, status)
    const wrong = (what: string): ProbeUnusable => unusable(base, `answered ${what}`)
    const given = yield* decode(body).pipe(Effect.mapError(() => wrong(JSON.stringify(body.slice(0, 100)))))
    return yield* readReading(given, wrong)
  })
  return { kind: "http", name: `${base.origin}${base.pathname}`, concurrency, read }
}
