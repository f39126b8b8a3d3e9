/**
 * Sends the deliveries of the fair queue: checks the user's right, signs, posts and judges the answer. The code for
 * each delivery is synchronous; Effects run only for waits and logs.
 */
import { Cause, Effect, Exit, Latch, Random, Scheduler } from "effect"
import type { Fiber, Redacted } from "effect"
import type { Attempt, LeasedDelivery } from "../model/Delivery.ts"
import { maxExcerptLength } from "../model/Delivery.ts"
import { bodyOf } from "../model/Event.ts"
import type { UserId } from "../model/Ids.ts"
import { formatDeliveryId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"
import { DirectoryError } from "../ports/Directory.ts"
import { failureText } from "../ports/FailureText.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { TransportReport, TransportResult } from "../ports/Transport.ts"
import { Transport, TransportUnavailable } from "../ports/Transport.ts"
import type { AcknowledgementRule } from "./Acknowledgement.ts"
import { judge } from "./Acknowledgement.ts"
import type { AllowList } from "../model/AddressPolicy.ts"
import { acknowledgementOf, allowOf, customHeadersOf, retryOf, secretsOf } from "./DeliveryPolicy.ts"
import { headersOf } from "./DeliveryRequest.ts"
import { placeOf } from "./Redirect.ts"
import { isExpired, parseRetryAfter, policyOf } from "../model/RetryPolicy.ts"
import { settleAttempt, settleExpired, settleRightLost } from "./Settlements.ts"
import { shownHost } from "../model/UrlPolicy.ts"
import { logDefect } from "./Loops.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { ServiceKey, signsWithServiceKey } from "./ServiceKey.ts"
import type { AccessAnswer } from "./AccessCheck.ts"
import { AccessCheck } from "./AccessCheck.ts"
import type { BreakerCause, CircuitBreaker } from "./CircuitBreaker.ts"
import { retryLater } from "./CircuitBreaker.ts"
import type { Changes } from "./Changes.ts"
import type { FairQueue, LatencyClass } from "./FairQueue.ts"
import type { IntegrationHealth } from "./IntegrationHealth.ts"
import type { Membership } from "./Membership.ts"
import type { Outcome } from "./RecordQueue.ts"

/**
 * Number of attempts started in one turn of the event loop. Between turns, other work can run, such as storing a call.
 */
const slice = 16

/** Duration above which an attempt counts as slow, whatever its outcome, in milliseconds. */
const slowAttempt = 1_000

/** Shortest time between two warnings that this process is overloaded, in milliseconds. */
const busyReportEvery = 60_000

/** A delivery in flight. */
interface Flight {
  readonly delivery: LeasedDelivery
  readonly worker: string
  /** Number of the latest change to integrations when the flight began. */
  readonly since: number
  /** Whether this is the trial request of the open circuit breaker. */
  readonly isTrial: boolean
  cancel: () => void
}

/** What the sender needs from its dispatcher. */
export interface SenderHost {
  readonly queue: FairQueue
  readonly breaker: CircuitBreaker
  readonly changes: Pick<Changes, "latest" | "isVoid">
  readonly health: Pick<IntegrationHealth, "mayBeEarly">
  readonly membership: Pick<Membership, "worker">
  /** Whether an attempt started now ends before the worker's membership does. */
  readonly mayStart: (now: number) => boolean
  /** Whether any delivery may be sent now. */
  readonly maySend: (now: number) => boolean
  /** Returns deliveries to the store without an attempt, due now or at `dueAt`. */
  readonly release: (deliveries: ReadonlyArray<LeasedDelivery>, dueAt?: (delivery: LeasedDelivery) => number) => void
  readonly record: (outcome: Outcome) => void
  /** Called when a trial request ends, because the time of the next trial is then known. */
  readonly tried: () => void
  /** Called when the breaker closes. `lasted` is the length of the outage in milliseconds. */
  readonly closed: (cause: BreakerCause, lasted: number) => void
}

export interface Sender {
  /** Starts queued deliveries that have a free place, in the next turn of the event loop. */
  readonly pump: () => void
  /** Starts urgent deliveries that have a free place now, and all others as `pump` does. */
  readonly pumpUrgent: () => void
  /** Returns the deliveries in flight. */
  readonly flights: () => Iterable<LeasedDelivery>
  /** Waits up to `patience` milliseconds for the deliveries in flight, then cancels those that remain. */
  readonly drain: (patience: number) => Effect.Effect<void>
}

type Headers = Readonly<Record<string, string>>

/** Cached settings of an integration, valid until the integration changes. */
interface Target {
  readonly allow: AllowList
  readonly rule: AcknowledgementRule
  /** Custom headers of the integration; null for none. */
  readonly headers: Headers | null
}

const latencyClassOf = ({ attempt }: Settlement): LatencyClass => {
  if (attempt === null) return null
  if (attempt.duration_ms > slowAttempt) return "slow"
  return attempt.outcome === "acknowledged" ? "prompt" : null
}

/** The name of a delivery in a log. */
const nameOf = ({ id, integration }: LeasedDelivery): string =>
  `${formatDeliveryId(id)} to integration ${integration.id} (${shownHost(integration.configuration.url)})`

const ownerOf = ({ integration }: LeasedDelivery): UserId => integration.created_by.user_id

const isSigned = (signing: Effect.Effect<Headers>): signing is Exit.Success<Headers> =>
  Exit.isExit(signing) && Exit.isSuccess(signing)

const isAnswered = (report: TransportReport): report is TransportResult =>
  report._tag === "Answered" || report._tag === "Failed"

const attemptOf = (
  delivery: LeasedDelivery,
  startedAt: number,
  result: TransportResult,
  deadline: number,
  rule: AcknowledgementRule
): Attempt => ({
  number: delivery.attempts + 1,
  started_at: startedAt,
  duration_ms: Math.round(result.elapsed),
  outcome: judge(result, deadline, rule),
  status: result._tag === "Answered" ? result.status : null,
  response_excerpt: result._tag === "Answered" ? result.excerpt.slice(0, maxExcerptLength) : null,
  detail: result._tag === "Failed" ? result.detail : placeOf(result.location, delivery.integration.configuration.url)
})

export const makeSender = Effect.fnUntraced(function* (host: SenderHost) {
  const settings = yield* DeliverySettings
  const transport = yield* Transport
  const crypto = yield* Crypto
  const serviceKey = yield* ServiceKey
  if (serviceKey === null && signsWithServiceKey(settings.signing)) {
    return yield* Effect.die(new Error(`signing: ${settings.signing} needs a key. Provide serviceKeyLayer.`))
  }
  const serviceKeys = serviceKey === null ? [] : [serviceKey]
  const access = yield* AccessCheck.make
  const random = yield* Random.Random
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const turns = (yield* Scheduler.Scheduler).makeDispatcher()
  const { breaker, changes, health, membership, queue } = host
  const flights = new Set<Flight>()
  const landed = yield* Latch.make(true)
  const targets = new WeakMap<Integration, Target>()
  const now = yield* storeTime
  const log = (line: Effect.Effect<void>): void => void run(Effect.catchDefect(line, () => Effect.void))

  const targetOf = (integration: Integration): Target => {
    const known = targets.get(integration)
    if (known !== undefined) return known
    const target = {
      allow: allowOf(settings.allow, integration),
      rule: acknowledgementOf(integration),
      headers: customHeadersOf(integration)
    }
    targets.set(integration, target)
    return target
  }

  const secretsFor = (integration: Integration, at: number): ReadonlyArray<Redacted.Redacted> => {
    switch (settings.signing) {
      case "hmac":
        return secretsOf(integration, at)
      case "ed25519":
        return serviceKeys
      case "both":
        return [...secretsOf(integration, at), ...serviceKeys]
      case "off":
        return []
    }
  }

  // A resend is sent even after the event's lifetime, because someone requested it.
  const isLate = ({ event, resend }: LeasedDelivery, at: number): boolean =>
    !resend && isExpired(policyOf(settings.retry, event.resource_type), event.created_at, at)

  // The path of one delivery: start, receive the directory's answer, sign, send, conclude.

  const start = (delivery: LeasedDelivery, isTrial: boolean): void => {
    if (isTrial) breaker.beginTrial(now())
    const flight = { delivery, worker: membership.worker, since: changes.latest, isTrial, cancel: () => undefined }
    flights.add(flight)
    landed.closeUnsafe()
    guard(flight, () => {
      const at = now()
      if (isLate(delivery, at)) return conclude(flight, settleExpired(delivery))
      const { integration } = delivery
      const answer = access.ask(ownerOf(delivery), integration.scope, (late) =>
        guard(flight, () => answeredLate(flight, late))
      )
      if (answer !== null) allowed(flight, answer, at)
    })
  }

  /** Runs a step of a delivery. After a defect, logs the cause and defers the delivery. */
  const guard = (flight: Flight, step: () => void): void => {
    if (!flights.has(flight)) return
    try {
      step()
    } catch (defect) {
      failed(flight, defect)
    }
  }

  const failed = (flight: Flight, defect: unknown): void => {
    if (!flights.has(flight)) return
    log(logDefect(`${nameOf(flight.delivery)} could not be attempted`, defect))
    defer([flight.delivery])
    land(flight, null)
  }

  /** Continues after an asynchronous answer from the directory. */
  const answeredLate = (flight: Flight, answer: AccessAnswer): void => {
    const { delivery } = flight
    const at = now()
    if (answer !== true || !isLate(delivery, at)) return allowed(flight, answer, at)
    succeeded("directory", delivery)
    conclude(flight, settleExpired(delivery))
  }

  const allowed = (flight: Flight, answer: AccessAnswer, at: number): void => {
    const { delivery } = flight
    if (answer instanceof DirectoryError) return onOutage(flight, "directory", answer)
    // The directory is not asked about the operator's own integration.
    if (delivery.integration.scope.type !== "service") succeeded("directory", delivery)
    if (!answer) return conclude(flight, settleRightLost(delivery))
    const { early_due_at, integration } = delivery
    if (changes.isVoid(integration.id, flight.since) || !host.mayStart(at)) return releaseUnattempted(flight)
    if (early_due_at !== null && !health.mayBeEarly(integration.id, at)) return releaseUnattempted(flight)
    sign(flight, at)
  }

  const sign = (flight: Flight, startedAt: number): void => {
    const { delivery } = flight
    const body = bodyOf(delivery.event)
    const identity = { id: delivery.event.id, attempt: delivery.attempts + 1, signedAt: startedAt, body }
    const secrets = secretsFor(delivery.integration, startedAt)
    const signing = headersOf(crypto, identity, secrets)
    if (isSigned(signing)) return post(flight, startedAt, signing.value, body)
    // Asynchronous cryptography, or several secrets.
    run(signing).addObserver((signed) =>
      Exit.isSuccess(signed)
        ? guard(flight, () => post(flight, startedAt, signed.value, body))
        : failed(flight, Cause.squash(signed.cause))
    )
  }

  const post = (flight: Flight, startedAt: number, headers: Headers, body: string): void => {
    const { integration } = flight.delivery
    const { allow, headers: own } = targetOf(integration)
    const request = {
      url: integration.configuration.url,
      headers: own === null ? headers : { ...own, ...headers },
      body,
      deadline: settings.ackTimeout,
      allow,
      client: integration.created_by.client_id
    }
    flight.cancel = transport.send(request, (report) => guard(flight, () => answered(flight, startedAt, report)))
  }

  const answered = (flight: Flight, startedAt: number, report: TransportReport): void => {
    const { delivery } = flight
    if (!isAnswered(report)) {
      if (report._tag === "TransportDefect") return failed(flight, report.cause)
      return report instanceof TransportUnavailable
        ? onOutage(flight, "egress", report)
        : crowdedOut(flight, report.message)
    }
    const { event, integration } = delivery
    const attempt = attemptOf(delivery, startedAt, report, settings.ackTimeout, targetOf(integration).rule)
    // A blocked address is refused before any request, so this outcome says nothing about outbound connections.
    if (attempt.outcome !== "blocked_address") succeeded("egress", delivery)
    const at = now()
    conclude(
      flight,
      settleAttempt(delivery, attempt, retryOf(settings.retry, integration, event.resource_type), {
        now: at,
        random: attempt.outcome === "acknowledged" ? 0 : random.nextDoubleUnsafe(),
        retryAfter: report._tag === "Answered" ? parseRetryAfter(report.retry_after, at) : null,
        wasChanged: changes.isVoid(integration.id, flight.since)
      })
    )
  }

  const conclude = (flight: Flight, settlement: Settlement): void => {
    const { delivery, since, worker } = flight
    const { id, status } = delivery.integration
    const countsForHealth = status === "enabled" && !changes.isVoid(id, since)
    host.record({ delivery, settlement, worker, countsForHealth })
    land(flight, latencyClassOf(settlement))
  }

  /** Frees the place of a delivery. */
  const land = (flight: Flight, latencyClass: LatencyClass): void => {
    flights.delete(flight)
    const { delivery, isTrial } = flight
    if (isTrial) breaker.endTrial()
    const surplus = queue.finish(delivery, latencyClass)
    if (surplus.length > 0) host.release(surplus)
    if (isTrial) host.tried()
    if (flights.size === 0) landed.openUnsafe()
    pump()
  }

  // Deliveries that can't be attempted now.

  /** Releases a delivery that must not be attempted under its lease. */
  const releaseUnattempted = (flight: Flight): void => {
    host.release([flight.delivery])
    land(flight, null)
  }

  /** Makes deliveries due later after a failure that is not their receivers' fault. */
  const defer = (deliveries: ReadonlyArray<LeasedDelivery>): void => {
    const at = now()
    host.release(deliveries, (delivery) => breaker.dueAt(ownerOf(delivery), at))
  }

  const removeWaiting = (at: number): ReadonlyArray<LeasedDelivery> =>
    queue.removeIf((held) => breaker.mustDefer(ownerOf(held), at))

  /**
   * Handles a failure of the directory or of outbound connections: defers the queued deliveries of the user, or of all
   * users.
   */
  const onOutage = (flight: Flight, cause: BreakerCause, error: DirectoryError | TransportUnavailable): void => {
    const { delivery } = flight
    const owner = ownerOf(delivery)
    const verdict = breaker.failed(cause, owner, now())
    const others = breaker.isOpen ? removeWaiting(now()) : queue.removeIf((held) => ownerOf(held) === owner)
    if (verdict === "own") {
      const own = "The directory answers for other users, but not for the integration's owner"
      log(Effect.logWarning(`${nameOf(delivery)} waits. ${own}. ${failureText(error)}`))
    } else if (verdict === "begins") {
      const pace = `One is tried every ${retryLater / 1_000} s until one succeeds`
      log(Effect.logWarning(`All deliveries wait. ${pace}. ${failureText(error)}`))
    }
    defer([delivery, ...others])
    land(flight, null)
  }

  let nextBusyReport = Number.NEGATIVE_INFINITY

  /** Handles a lack of resources in this process: defers the delivery and all queued deliveries of its integration. */
  const crowdedOut = (flight: Flight, message: string): void => {
    const { delivery } = flight
    if (now() >= nextBusyReport) {
      nextBusyReport = now() + busyReportEvery
      log(Effect.logWarning(`${nameOf(delivery)} is tried again in ${retryLater / 1_000} s. ${message}`))
    }
    defer([delivery, ...queue.removeOf(delivery.integration.id)])
    // The delivery occupied its place until the deadline, like one to a slow receiver.
    land(flight, "slow")
  }

  const succeeded = (cause: BreakerCause, delivery: LeasedDelivery): void => {
    const lasted = breaker.succeeded(cause, ownerOf(delivery), now())
    if (lasted !== null) host.closed(cause, lasted)
  }

  // Scheduling.

  const startPaced = (delivery: LeasedDelivery, isTrial: boolean): void => {
    const surplus = queue.pace(delivery, now())
    if (surplus.length > 0) host.release(surplus)
    start(delivery, isTrial)
  }

  /** While the breaker is open, settles expired deliveries and starts a trial request if one is due. */
  const startTrial = (): void => {
    const at = now()
    for (const delivery of queue.removeIf((held) => isLate(held, at))) {
      const settlement = settleExpired(delivery)
      host.record({ delivery, settlement, worker: membership.worker, countsForHealth: false })
    }
    // A new round begins once all queued deliveries belong to users whose trials failed in the current round.
    if (breaker.hasTrial || queue.queued === 0) return
    const hasOthers = queue.some((held) => !breaker.hasFailed(ownerOf(held)))
    if (!hasOthers && breaker.pausedUntil(at) === null) breaker.startRound()
    const waiting = removeWaiting(at)
    if (waiting.length > 0) defer(waiting)
    const delivery = queue.next()
    if (delivery === undefined) return
    startPaced(delivery, true)
  }

  /** Starts queued deliveries that have a free place. Returns whether there may be more to start. */
  const startSome = (which: "urgent" | "all"): boolean => {
    for (let started = 0; started < slice; started++) {
      if (!host.maySend(now())) return false
      if (breaker.isOpen) {
        startTrial()
        return false
      }
      const delivery = queue.next(which)
      if (delivery === undefined) return false
      startPaced(delivery, false)
    }
    return true
  }

  /**
   * Timer for the first integration whose rate limit will allow another request; null if no integration waits for its
   * limit.
   */
  let resuming: { readonly at: number; readonly fiber: Fiber.Fiber<void> } | null = null

  const stopResuming = (): void => {
    resuming?.fiber.interruptUnsafe()
    resuming = null
  }

  const resume = (): void => {
    resuming = null
    queue.resume(now())
    pump()
  }

  const resumeInTime = (): void => {
    const time = now()
    const at = queue.resumesAt(time)
    if (at === null || (resuming !== null && resuming.at <= at)) return
    stopResuming()
    const wait = at - time
    if (wait <= 0) resume()
    else resuming = { at, fiber: run(Effect.delay(Effect.sync(resume), wait)) }
  }

  let isScheduled = false

  const takeTurn = (): void => {
    isScheduled = false
    let hasMore = false
    try {
      access.withinTurn(() => {
        hasMore = startSome("all")
      })
    } catch (defect) {
      log(logDefect("Deliveries could not be started", defect))
    }
    if (hasMore) pump()
    else resumeInTime()
  }

  const pump = (): void => {
    if (isScheduled || queue.queued === 0) return
    isScheduled = true
    turns.scheduleTask(takeTurn, 0)
  }

  yield* Effect.addFinalizer(() => Effect.sync(stopResuming))

  return {
    pump,
    pumpUrgent: () => {
      startSome("urgent")
      pump()
    },
    flights: () => Array.from(flights, ({ delivery }) => delivery),
    drain: (patience) =>
      landed.await.pipe(
        Effect.timeoutOption(patience),
        Effect.andThen(
          Effect.sync(() => {
            for (const { cancel } of flights) cancel()
            flights.clear()
          })
        )
      )
  } satisfies Sender
})
