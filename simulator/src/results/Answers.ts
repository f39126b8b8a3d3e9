/**
 * What an operator asks, answered in words from what a run has measured, with the arithmetic beside it.
 */
import { builtInTypes, defaultDeliverySettings, laneOf, placesFor } from "@doorhook/core"
import type { IntegrationLine, RunReport } from "./RunReport.ts"
import { fewestStored } from "./RunReport.ts"
import { sinceMidnight, zoneMark } from "./Start.ts"
import { bytes, counted, duration, grouped, momentOf, percent } from "./Words.ts"

export interface Answer {
  readonly question: string
  readonly answer: string
  /** How the numbers come about; null where they were simply counted. */
  readonly arithmetic: string | null
}

type Measured = Omit<RunReport, "answers" | "slos" | "verdict">

const day = 24 * 3_600_000

const isLong = ({ duration: length }: Measured): boolean => length > day

/** By the clock where the plan's schedule was kept, else as a stopwatch has it. */
const when = (report: Measured, sinceStart: number): string =>
  report.speed === null
    ? `${duration(sinceStart)} after the beginning`
    : `at ${momentOf(sinceMidnight(report, sinceStart), isLong(report))}${zoneMark(report)}`

const lost = (report: Measured): Answer => {
  const {
    accepted,
    broken,
    cancelled,
    delivered,
    deliveries,
    exhausted,
    expired,
    failed,
    lost: missing,
    open,
    skipped,
    unfollowed
  } = report.totals
  const ends = [
    [delivered, "delivered"],
    [exhausted, "given up after the last retry"],
    [expired, "expired (calls nobody waits for any more)"],
    [cancelled, "cancelled"],
    [skipped, "skipped (integration disabled)"],
    [open, "still open when the waiting for them ended"]
  ] as const
  const list = ends.flatMap(([count, name]) => (count > 0 ? [`${grouped(count)} ${name}`] : [])).join(", ")
  const unacknowledged = exhausted + expired + cancelled + skipped
  const inShort =
    unacknowledged > 0
      ? `Nothing is missing, but ${counted(unacknowledged, "delivery was", "deliveries were")} never acknowledged.`
      : "No."
  const verdict =
    missing === null
      ? `Nobody can say: the service took in ${counted(accepted, "event")} and did not say what became of them.`
      : missing > 0
        ? `Yes: ${counted(missing, "delivery", "deliveries")} of what was accepted can't be accounted for.`
        : `${inShort} All ${grouped(deliveries)} deliveries of ${grouped(accepted - unfollowed)} ${unfollowed > 0 ? "followed" : "accepted"} events are accounted for: ${list || "there were none"}.`
  const notTaken =
    failed > 0
      ? ` ${counted(failed, "event")} ${failed === 1 ? "was" : "were"} never accepted, and whoever published them was told.`
      : ""
  const beyond =
    missing !== null && unfollowed > 0
      ? ` What became of ${counted(unfollowed, "more event")} is not known: ${unfollowed === 1 ? "it was" : "they were"} not followed.`
      : ""
  const rules =
    broken !== null && broken > 0 ? ` A rule of delivery was broken in ${counted(broken, "place")}: see below.` : ""
  return { question: "Was anything lost?", answer: verdict + beyond + notTaken + rules, arithmetic: null }
}

const fast = ({ ack_timeout, latency: { ack, delivery }, totals }: Measured): Answer | null => {
  if (ack === null) return null
  const first = `Half of all acknowledged requests were answered within ${duration(ack.p50)}, 99 % within ${duration(ack.p99)}${ack_timeout === null ? "" : ` (${duration(ack_timeout)} are allowed)`}.`
  const second =
    delivery === null
      ? ""
      : ` From acceptance to acknowledgement, retries included, it took ${duration(delivery.p50)} for half and ${duration(delivery.p99)} for 99 %; the longest took ${duration(delivery.max)}.`
  const third =
    totals.deliveries === 0
      ? ""
      : ` ${percent(totals.delivered / totals.deliveries)} of deliveries reached their receiver.`
  return { question: "How fast did receivers get their events?", answer: first + second + third, arithmetic: null }
}

/** When the receiver was there again, by its own clock; without a time where its rules have several. */
const backText = ({ down }: IntegrationLine, report: Measured): string => {
  const [end, ...more] = new Set(down.map(({ to }) => to))
  return end === undefined || more.length > 0
    ? ", after the receiver was back"
    : `, after the receiver was back at ${momentOf(end * 60_000, false)}${report.time_zone === null ? " by its own clock" : ""}`
}

const outageText = (report: Measured, line: IntegrationLine): string | null => {
  const { name, outage, states } = line
  if (outage === null) return null
  const { cancelled, delivered_at, empty_at, exhausted, most_open, most_open_at } = outage
  if (most_open_at === null) return `${name}: nothing waited during the outage.`
  const grew = `${name}: ${counted(most_open, "delivery was", "deliveries were")} waiting at most, ${when(report, most_open_at)}`
  const { skipped } = states
  // Without either, what was skipped came after the outage was over.
  if (cancelled > 0 || (exhausted > 0 && skipped > 0)) {
    const ends = [
      ...(cancelled > 0 ? [`${counted(states.cancelled, "delivery was", "deliveries were")} cancelled`] : []),
      ...(skipped > 0 ? [`${counted(skipped, "more was", "more were")} skipped`] : [])
    ]
    return `${grew}; then the integration was ${skipped > 0 ? "disabled" : "disabled or deleted"}: ${ends.join(", ")}.`
  }
  if (exhausted > 0)
    return `${grew}; ${counted(exhausted, "delivery was", "deliveries were")} given up, because the schedule ended before the receiver was back.`
  if (empty_at === null) return `${grew}; it was not empty again before the run ended.`
  // What is not delivered, cancelled or given up has expired: a call, for which the receiver may have come back too late.
  const how = delivered_at === null ? ", when the last had expired" : backText(line, report)
  return `${grew}; none was left ${when(report, empty_at)}, ${duration(empty_at - most_open_at)} later${how}.`
}

const outages = (report: Measured): Answer | null => {
  const down = report.integration_lines
    .filter(({ outage }) => outage !== null)
    .toSorted((a, b) => (b.outage?.most_open ?? 0) - (a.outage?.most_open ?? 0))
    .flatMap((line) => outageText(report, line) ?? [])
  if (down.length === 0) return null
  const schedule = report.retry?.["access_log"] ?? []
  return {
    question: "How big does the backlog get while a receiver is down, and how long does it take to drain?",
    answer: down.slice(0, 3).join(" "),
    arithmetic: `What failed during the outage comes again when its schedule says (${schedule.map(duration).join(", ") || "no retry"}), so the gap between the last retries sets how long the tail is, not how fast doorhook sends. \`deliveries recover\` sends all of it at once.`
  }
}

const backlog = (report: Measured): Answer | null => {
  const { backlog: most, backlog_at, most_in_flight } = report.totals
  if (most === null || backlog_at === null || most_in_flight === null) return null
  return {
    question: "How much was waiting at the worst moment?",
    answer:
      `${counted(most, "delivery", "deliveries")}, ${when(report, backlog_at)}. ${most_in_flight > 0 ? `At most ${counted(most_in_flight, "request")} ${most_in_flight === 1 ? "was" : "were"} open at once.` : ""}`.trim(),
    arithmetic: null
  }
}

const duplicates = ({ totals: { attempts, duplicates: count, repeated } }: Measured): Answer | null => {
  if (count === null) return null
  const onPurpose =
    repeated > 0 ? ` Besides, ${counted(repeated, "event was", "events were")} published twice on purpose.` : ""
  const seen =
    count === 0
      ? `None in ${counted(attempts, "request")}.`
      : `${grouped(count)} in ${counted(attempts, "request")}, ${percent(count / attempts)}: the receiver had processed the event, and doorhook could not know.`
  return {
    question: "How many duplicates must receivers cope with?",
    answer: `${seen}${onPurpose}`,
    arithmetic:
      "An answer that is late or lost, and a process that dies before it recorded one, each cost one request more; `webhook-id` stays the same."
  }
}

const perDay = (count: number, { duration: length }: Measured): number => (length > 0 ? (count * day) / length : 0)

const attemptsText = (mean: number): string =>
  mean === 1 ? "one attempt each" : `${mean.toFixed(2)} attempts each, as in the run`

const size = (report: Measured): Answer | null => {
  const { kind, storage, storage_failure, totals } = report
  const question = "How large is the database after a year?"
  if (storage === null) {
    if (storage_failure !== null) {
      const answer = `Not answered: it could not be measured in the folder for temporary files: ${storage_failure}`
      return { question, answer, arithmetic: null }
    }
    if (kind !== "virtual" || totals.accepted >= fewestStored) return null
    const answer = `Not answered: ${counted(totals.accepted, "event")} ${totals.accepted === 1 ? "is" : "are"} too few to measure it on; from ${fewestStored} on it is. Give a longer --duration or more by --rate-scale.`
    return { question, answer, arithmetic: null }
  }
  const events = perDay(totals.accepted, report)
  const deliveries = perDay(totals.deliveries, report)
  const year = 365 * (events * storage.bytes_per_event + deliveries * storage.bytes_per_delivery)
  const { retention } = defaultDeliverySettings
  const byDefault =
    retention === null
      ? ""
      : `; ${bytes((year * retention) / (365 * day))} with the default retention of ${retention / day} days`
  return {
    question,
    answer: `${bytes(year)} on SQLite if everything is kept${byDefault}.`,
    arithmetic: `Measured on a real file of ${grouped(storage.events)} events and ${grouped(storage.deliveries)} deliveries with ${attemptsText(storage.attempts_per_delivery)}: ${grouped(storage.bytes_per_event)} bytes an event and ${grouped(storage.bytes_per_delivery)} bytes a delivery, indexes included. ${grouped(events)} events × ${grouped(storage.bytes_per_event)} + ${grouped(deliveries)} deliveries × ${grouped(storage.bytes_per_delivery)} bytes a day × 365.`
  }
}

const workers = (report: Measured): Answer | null => {
  const { answer } = report.latency
  // A service was asked about some of its requests alone, and its workers have settings of their own.
  const busiest = report.series.reduce((most, { attempts }) => Math.max(most, attempts ?? 0), 0)
  if (answer === null || busiest === 0) return null
  // The report's axis is the plan's, which the run went along faster or slower.
  const speed = report.speed ?? 1
  const rate = (busiest * 1_000 * speed) / report.interval
  const pace = speed === 1 ? "" : `, at ${speed} times the plan's pace`
  const load = `this load${speed === 1 ? "" : ` (${speed} times the plan's)`}`
  const { concurrency, concurrencyPerIntegration } = defaultDeliverySettings
  // What is not answered in time holds its place all that time, too.
  const open = (rate * answer.mean) / 1_000
  const places = placesFor(laneOf(builtInTypes.access_log, 0), concurrency)
  const needed = Math.max(1, Math.ceil(open / places))
  const times = Math.max(1, Math.floor((needed * places) / Math.max(open, 0.001)))
  const upTo = times > 100_000 ? "more than 100,000" : `about ${grouped(Number(times.toPrecision(2)))}`
  const one = 1_000 / answer.mean
  const byOpen =
    needed === 1
      ? `One. By the number of requests open at once, one worker is enough up to ${upTo} times ${load}; N times that takes N workers over one PostgreSQL.`
      : `${grouped(needed)} over one PostgreSQL, by the number of requests open at once; N times ${load} takes N times as many.`
  return {
    question: "How many workers does this load take, and what if it grows?",
    answer: `${byOpen} One integration gets at most ${grouped(concurrencyPerIntegration * one)} requests a second at this answer time, however many workers there are.`,
    arithmetic: `Little's law on the busiest interval${pace}: ${rate.toFixed(2)} requests/s × ${duration(answer.mean)} each, acknowledged or not = ${open.toFixed(2)} open at once; a worker has ${concurrency} places, of which access logs may use ${places}: ${open.toFixed(2)} / ${places}. One integration has ${concurrencyPerIntegration} places: ${concurrencyPerIntegration} / ${duration(answer.mean)}. How many requests a second a machine can record is another limit: \`npm run bench -- deliver-sqlite\` measures it on yours.`
  }
}

const kept = ({ totals: { planned, rate }, latency: { late_start } }: Measured): Answer | null => {
  if (rate === null || late_start === null) return null
  const enough = rate >= 0.95
  return {
    question: "Was the planned rate reached?",
    answer: `${enough ? "Yes" : "No: RATE NOT REACHED, so latencies are those of a lower load than planned"}. Of ${grouped(planned)} events ${percent(rate)} began within a second of their time; 99 % began at most ${duration(late_start.p99)} late.`,
    arithmetic: null
  }
}

/** Everything that this run can answer. */
export const answersOf = (report: Measured): ReadonlyArray<Answer> =>
  [
    lost(report),
    outages(report),
    fast(report),
    backlog(report),
    duplicates(report),
    report.kind === "virtual" ? null : kept(report),
    size(report),
    workers(report)
  ].flatMap((answer) => answer ?? [])
