/**
 * Tracks the deliveries of published events over the operator API of a service, until all have ended or `--grace` has
 * passed.
 */
import type { DeliveryState } from "@doorhook/core"
import { AttemptOutcome, DeliveryState as State, settledStates } from "@doorhook/core"
import { Clock, Effect, Schema } from "effect"
import type { Measurements } from "../results/Measurements.ts"
import type { AcceptedEvent, Denial, Service } from "./OperatorApi.ts"
import { callService } from "./OperatorApi.ts"

const Row = Schema.Struct({
  id: Schema.String,
  event_id: Schema.String,
  integration_id: Schema.Union([Schema.String, Schema.Int]),
  state: State,
  reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
  attempts: Schema.Int
})
type Row = typeof Row.Type

/** The newest delivery, if there is one. */
const Newest = Schema.fromJsonString(Schema.Struct({ deliveries: Schema.Array(Schema.Struct({ id: Schema.String })) }))

const Page = Schema.fromJsonString(Schema.Struct({ deliveries: Schema.Array(Row), next: Schema.NullOr(Schema.String) }))

const Detail = Schema.fromJsonString(
  Schema.Struct({
    created_at: Schema.String,
    attempts: Schema.Array(
      Schema.Struct({
        started_at: Schema.String,
        duration_ms: Schema.Finite,
        outcome: AttemptOutcome,
        status: Schema.optionalKey(Schema.NullOr(Schema.Finite))
      })
    )
  })
)

/** Maximum number of events to track. */
const usualMost = 1_000_000

/** Maximum number of deliveries whose attempts are looked up. The sample is spread evenly over all deliveries. */
const sample = 1_000

/**
 * Maximum waits before a lookup is retried, in milliseconds. Retries are needed because a service may limit the rate of
 * requests.
 */
const lookUpAgain = [1_000, 5_000]

/** Pause between two polls, in milliseconds. */
const pause = 500

const settled: ReadonlySet<DeliveryState> = new Set(settledStates)

/** Result of tracking. */
export interface TrackedDeliveries {
  /** Deliveries that the service counted when it accepted events, but doesn't list. */
  readonly missing: number
  /** Why the deliveries could not be read; null if they were. */
  readonly why: string | null
}

export class DeliveryTracker {
  /** Published events, and how many deliveries of each are not counted yet. */
  readonly #events = new Map<string, number>()
  readonly #integrations = new Map<string, number>()
  readonly #service: Service
  readonly #measurements: Measurements
  readonly #timeOf: (instant: number) => number
  readonly #mostEvents: number
  /**
   * Number of deliveries that are not counted yet, summed over events. An extra delivery of one event doesn't replace a
   * missing delivery of another.
   */
  #missing = 0
  /** Query parameter with the position right before the run's first uncounted delivery. */
  #place = ""

  constructor(
    service: Service,
    measurements: Measurements,
    timeOf: (instant: number) => number,
    mostEvents = usualMost
  ) {
    this.#mostEvents = mostEvents
    this.#service = service
    this.#measurements = measurements
    this.#timeOf = timeOf
  }

  accepted(events: ReadonlyArray<AcceptedEvent>): void {
    for (const { deliveries, id } of events) {
      if (deliveries === 0) continue
      if (id === undefined || this.#events.size >= this.#mostEvents) {
        this.#measurements.totals.unfollowed++
        continue
      }
      this.#missing += deliveries
      this.#events.set(id, (this.#events.get(id) ?? 0) + deliveries)
    }
  }

  /**
   * Stores the position of the newest delivery before the run. This must happen before the first event is published:
   * requests can overtake each other, so the first answer doesn't show which event was stored first. Returns null if
   * the service answered.
   */
  begin(): Effect.Effect<Denial | null> {
    const newest = callService(this.#service, "/operator/deliveries?order=newest&limit=1", Schema.decodeOption(Newest))
    return Effect.map(newest, (page) => {
      if ("_tag" in page) return page
      const [newest] = page.deliveries
      this.#place = newest === undefined ? "" : `after=${newest.id}&`
      return null
    })
  }

  /** Polls until all deliveries have ended, for at most `grace` milliseconds. */
  settle(grace: number): Effect.Effect<TrackedDeliveries> {
    return Effect.gen({ self: this }, function* () {
      if (this.#events.size === 0) {
        const isSilent = this.#measurements.totals.unfollowed > 0
        return { missing: 0, why: isSilent ? "the service did not return the ids of the accepted events" : null }
      }
      const until = (yield* Clock.currentTimeMillis) + grace
      const ids: Array<string> = []
      const open = new Map<string, Row>()
      for (;;) {
        const denial: Denial | null = yield* this.#walk(ids, open)
        if (denial?._tag === "Refused") return { missing: 0, why: denial.why }
        const left = until - (yield* Clock.currentTimeMillis)
        if (denial !== null) {
          if (left <= 0) return { missing: 0, why: `${denial.why}; a longer --grace waits longer` }
        } else if (left <= 0 || (open.size === 0 && this.#missing === 0)) break
        yield* Effect.sleep(Math.min(left, Math.max(pause, denial?.retryAfter ?? 0)))
      }
      for (const row of open.values()) {
        this.#count(row)
        if (row.attempts > 0) ids.push(row.id)
      }
      yield* this.#look(ids)
      return { missing: this.#missing, why: null }
    })
  }

  /**
   * Counts the run's deliveries up to the first that has not ended. Returns null if the service answered every request.
   */
  #walk(ids: Array<string>, open: Map<string, Row>) {
    return Effect.gen({ self: this }, function* () {
      let place = this.#place
      let isSolid = true
      open.clear()
      for (;;) {
        const page: typeof Page.Type | Denial = yield* this.#page(`${place}limit=1000`)
        if ("_tag" in page) return page
        for (const row of page.deliveries) {
          const isOurs = this.#events.has(row.event_id)
          if (isOurs && !settled.has(row.state)) isSolid = false
          if (isSolid) {
            this.#place = `after=${row.id}&`
            if (isOurs) {
              this.#count(row)
              if (row.attempts > 0) ids.push(row.id)
            }
          } else if (isOurs) open.set(row.id, row)
        }
        // Deliveries after the first open one are counted once that one has ended.
        if (page.next === null) return null
        place = `after=${page.next}&`
      }
    })
  }

  #count({ attempts, event_id, integration_id, reason, state }: Row): void {
    const wanted = this.#events.get(event_id) ?? 0
    if (wanted > 0) {
      this.#missing--
      this.#events.set(event_id, wanted - 1)
    }
    const name = String(integration_id)
    const totals = this.#measurements.integration(
      this.#integrations.get(name) ?? this.#number(name),
      `integration ${name}`
    )
    this.#measurements.reported(totals, state, attempts)
    if (reason === "call_ended") this.#measurements.totals.call_ended++
  }

  #number(name: string): number {
    const number = this.#integrations.size + 1
    this.#integrations.set(name, number)
    return number
  }

  /** Looks up the attempts of a sample of deliveries, to measure how long receivers took. */
  #look(ids: ReadonlyArray<string>) {
    const step = Math.max(1, Math.ceil(ids.length / sample))
    const chosen = ids.filter((_, at) => at % step === 0)
    this.#measurements.sample.wanted = chosen.length
    return Effect.forEach(chosen, (id) => this.#detail(id), { concurrency: 8, discard: true })
  }

  #detail(id: string) {
    const once = callService(this.#service, `/operator/deliveries/${id}`, Schema.decodeOption(Detail))
    return Effect.gen({ self: this }, function* () {
      let detail = yield* once
      for (const wait of lookUpAgain) {
        if (!("_tag" in detail) || detail._tag === "Refused") break
        yield* Effect.sleep(Math.min(wait, Math.max(pause, detail.retryAfter ?? 0)))
        detail = yield* once
      }
      if ("_tag" in detail) {
        const failed = this.#measurements.sample
        failed.failed++
        failed.why = detail.why
        return
      }
      const published = Date.parse(detail.created_at)
      for (const { duration_ms, outcome, started_at, status } of detail.attempts) {
        const ended = Date.parse(started_at) + duration_ms
        const began = this.#timeOf(Date.parse(started_at))
        this.#measurements.sampled(began, outcome, duration_ms, ended - published, status)
      }
    })
  }

  #page(query: string) {
    return callService(this.#service, `/operator/deliveries?${query}`, Schema.decodeOption(Page))
  }
}
