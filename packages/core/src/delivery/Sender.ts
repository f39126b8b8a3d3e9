/**
 * The way of one delivery from the fair queue to its outcome: checks the owner's right, signs, posts and judges the
 * answer. The code for each delivery is synchronous; Effects run only for waits and logs.
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
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { DirectoryError } from "../ports/Directory.ts"
import { failureText } from "../ports/FailureText.ts"
import type { TransportReport, TransportResult } from "../ports/Transport.ts"
import { Transport, TransportUnavailable } from "../ports/Transport.ts"
import type { AcknowledgementRule } from "./Acknowledgement.ts"
import { judge } from "./Acknowledgement.ts"
import type { AllowList } from "../model/AddressPolicy.ts"
import { acknowledgementOf, allowOf, customHeadersOf, retryOf, secretsOf } from "./DeliveryPolicy.ts"
import { headersOf } from "./DeliveryRequest.ts"
import { makeViews } from "./EventViews.ts"
import type { Views } from "./EventViews.ts"
import { placeOf } from "./Redirect.ts"
import { expiryOf, isExpired, parseRetryAfter, policyOf } from "../model/RetryPolicy.ts"
import { settleAttempt, settleExpired, settleRightLost, settleUnsubscribed } from "./Settlements.ts"
import { hasExpired, occurrenceOf } from "../model/Subscription.ts"
import { shownHost } from "../model/UrlPolicy.ts"
import { logDefect } from "./Loops.ts"
import { ServiceKey, signsWithServiceKey } from "./ServiceKey.ts"
import type { AccessAnswer } from "./AccessCheck.ts"
import { AccessCheck } from "./AccessCheck.ts"
import type { BreakerCause } from "./CircuitBreaker.ts"
import { endText } from "./CircuitBreaker.ts"
import type { LatencyClass } from "./FairQueue.ts"
import type { Worker } from "./Worker.ts"
import { attemptsPerTurn, busyReportEvery, retryLater, slowAttempt } from "./EngineConstants.ts"

/** A delivery in flight. */
interface InFlight {
  readonly delivery: LeasedDelivery
  readonly worker: string
  /** Number of the latest change to integrations when the flight began. */
  readonly since: number
  /** Whether this is the trial request of the open circuit breaker. */
  readonly isTrial: boolean
  cancel: () => void
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

interface SenderParts {
  readonly worker: Worker
  readonly store: DeliveryStore["Service"]
  readonly transport: Transport["Service"]
  readonly crypto: Crypto["Service"]
  readonly serviceKey: Redacted.Redacted | null
  readonly access: AccessCheck
  readonly random: typeof Random.Random.Service
  readonly run: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  readonly turns: Scheduler.SchedulerDispatcher
  readonly views: Views
}

export class Sender {
  readonly #worker: Worker
  readonly #store: DeliveryStore["Service"]
  readonly #transport: Transport["Service"]
  readonly #crypto: Crypto["Service"]
  readonly #serviceKeys: ReadonlyArray<Redacted.Redacted>
  readonly #access: AccessCheck
  readonly #random: typeof Random.Random.Service
  readonly #run: SenderParts["run"]
  readonly #turns: Scheduler.SchedulerDispatcher
  readonly #views: Views
  readonly #inFlight = new Set<InFlight>()
  /** Open while no delivery is in flight. */
  readonly #isIdle = Latch.makeUnsafe(true)
  readonly #targets = new WeakMap<Integration, Target>()
  #isTurnScheduled = false
  /**
   * Timer for the first integration whose rate limit or pause will allow another request; null if no integration waits.
   */
  #resuming: { readonly at: number; readonly fiber: Fiber.Fiber<void> } | null = null
  #nextBusyReport = Number.NEGATIVE_INFINITY

  private constructor(parts: SenderParts) {
    this.#worker = parts.worker
    this.#store = parts.store
    this.#transport = parts.transport
    this.#crypto = parts.crypto
    this.#serviceKeys = parts.serviceKey === null ? [] : [parts.serviceKey]
    this.#access = parts.access
    this.#random = parts.random
    this.#run = parts.run
    this.#turns = parts.turns
    this.#views = parts.views
  }

  /** Makes a sender for the deliveries that a worker holds. Its timer ends with the scope. */
  static readonly make = Effect.fnUntraced(function* (worker: Worker) {
    const serviceKey = yield* ServiceKey
    const { signing } = worker.settings
    if (serviceKey === null && signsWithServiceKey(signing)) {
      return yield* Effect.die(new Error(`signing: ${signing} needs a key. Provide serviceKeyLayer.`))
    }
    const sender = new Sender({
      worker,
      store: yield* DeliveryStore,
      transport: yield* Transport,
      crypto: yield* Crypto,
      serviceKey,
      access: yield* AccessCheck.make,
      random: yield* Random.Random,
      run: Effect.runForkWith(yield* Effect.context<never>()),
      turns: (yield* Scheduler.Scheduler).makeDispatcher(),
      views: yield* makeViews
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => sender.#stopResuming()))
    return sender
  })

  /** Starts queued deliveries that may be sent, in the next turn of the event loop. */
  pump(): void {
    if (this.#isTurnScheduled || this.#worker.queue.queued === 0) return
    this.#isTurnScheduled = true
    this.#turns.scheduleTask(this.#takeTurn, 0)
  }

  /** Starts urgent deliveries that may be sent now, and all others as `pump` does. */
  pumpUrgent(): void {
    this.#tryToStart("urgent")
    this.pump()
  }

  /** Returns the deliveries in flight. */
  inFlight(): ReadonlyArray<LeasedDelivery> {
    return Array.from(this.#inFlight, ({ delivery }) => delivery)
  }

  /** Waits up to `patience` milliseconds for the deliveries in flight, then cancels those that remain. */
  drain(patience: number): Effect.Effect<void> {
    return this.#isIdle.await.pipe(
      Effect.timeoutOption(patience),
      Effect.andThen(
        Effect.sync(() => {
          for (const { cancel } of this.#inFlight) cancel()
          this.#inFlight.clear()
        })
      )
    )
  }

  // From the queue: which delivery starts when.

  readonly #takeTurn = (): void => {
    this.#isTurnScheduled = false
    let hasMore = false
    this.#access.withinTurn(() => {
      hasMore = this.#tryToStart("all")
    })
    if (hasMore) this.pump()
    else this.#resumeInTime()
  }

  /** Like `#startSome`, but logs a defect. */
  #tryToStart(which: "urgent" | "all"): boolean {
    try {
      return this.#startSome(which)
    } catch (defect) {
      this.#log(logDefect("Deliveries could not be started", defect))
      return false
    }
  }

  /** Starts queued deliveries that may be sent. Returns whether there may be more to start. */
  #startSome(which: "urgent" | "all"): boolean {
    const { breaker, queue } = this.#worker
    for (let started = 0; started < attemptsPerTurn; started++) {
      if (!this.#worker.maySend(this.#worker.now())) return false
      if (breaker.isOpen) {
        this.#startTrial()
        return false
      }
      const delivery = queue.next(which)
      if (delivery === undefined) return false
      this.#startPaced(delivery, false)
    }
    return true
  }

  /** While the breaker is open, settles expired deliveries and starts a trial request if one is due. */
  #startTrial(): void {
    const { breaker, membership, queue } = this.#worker
    const at = this.#worker.now()
    for (const delivery of queue.removeIf((queued) => this.#isLate(queued, at))) {
      const settlement = settleExpired(delivery)
      this.#worker.record({ delivery, settlement, worker: membership.worker, countsForHealth: false })
    }
    // A new round begins once all queued deliveries belong to users whose trials failed in the current round.
    if (breaker.hasTrial || queue.queued === 0) return
    const hasOthers = queue.some((queued) => !breaker.hasFailed(ownerOf(queued)))
    if (!hasOthers && breaker.pausedUntil(at) === null) breaker.startRound()
    this.#defer(this.#removeDeferred(at))
    const delivery = queue.next()
    if (delivery !== undefined) this.#startPaced(delivery, true)
  }

  #startPaced(delivery: LeasedDelivery, isTrial: boolean): void {
    this.#worker.release(this.#worker.queue.pace(delivery, this.#worker.now()))
    this.#start(delivery, isTrial)
  }

  #resumeInTime(): void {
    const now = this.#worker.now()
    const at = this.#worker.queue.resumesAt(now)
    if (at === null || (this.#resuming !== null && this.#resuming.at <= at)) return
    this.#stopResuming()
    const wait = at - now
    if (wait <= 0) this.#resume()
    else
      this.#resuming = {
        at,
        fiber: this.#run(
          Effect.delay(
            Effect.sync(() => this.#resume()),
            wait
          )
        )
      }
  }

  #resume(): void {
    this.#resuming = null
    this.#worker.queue.resume(this.#worker.now())
    this.pump()
    this.#resumeInTime()
  }

  #stopResuming(): void {
    this.#resuming?.fiber.interruptUnsafe()
    this.#resuming = null
  }

  // To the outcome: start, receive the directory's answer, sign, post, conclude.

  #start(delivery: LeasedDelivery, isTrial: boolean): void {
    const { breaker, changes, membership } = this.#worker
    if (isTrial) breaker.beginTrial(this.#worker.now())
    const flight = { delivery, worker: membership.worker, since: changes.latest, isTrial, cancel: () => undefined }
    this.#inFlight.add(flight)
    this.#isIdle.closeUnsafe()
    this.#guard(flight, () => this.#askForAccess(flight))
  }

  /** Runs a step of a delivery. After a defect, logs the cause and defers the delivery. */
  #guard(flight: InFlight, step: () => void): void {
    if (!this.#inFlight.has(flight)) return
    try {
      step()
    } catch (defect) {
      this.#failed(flight, defect)
    }
  }

  #askForAccess(flight: InFlight): void {
    const { delivery } = flight
    const at = this.#worker.now()
    if (this.#isLate(delivery, at)) return this.#conclude(flight, settleExpired(delivery))
    const { scope, subscription } = delivery.integration
    if (subscription !== undefined && hasExpired(subscription, at))
      return this.#conclude(flight, settleUnsubscribed(delivery))
    const answer = this.#access.ask(
      ownerOf(delivery),
      scope,
      (late) => this.#guard(flight, () => this.#answeredLate(flight, late)),
      subscription?.grant_id
    )
    if (answer !== null) this.#allowed(flight, answer, at)
  }

  /** Continues after an asynchronous answer from the directory. */
  #answeredLate(flight: InFlight, answer: AccessAnswer): void {
    const { delivery } = flight
    const at = this.#worker.now()
    if (answer !== true || !this.#isLate(delivery, at)) return this.#allowed(flight, answer, at)
    this.#succeeded("directory", delivery)
    this.#conclude(flight, settleExpired(delivery))
  }

  #allowed(flight: InFlight, answer: AccessAnswer, at: number): void {
    const { delivery } = flight
    if (answer instanceof DirectoryError) return this.#onOutage(flight, "directory", answer)
    // The directory is not asked about the operator's own integration.
    if (delivery.integration.scope.type !== "service") this.#succeeded("directory", delivery)
    if (!answer) return this.#conclude(flight, settleRightLost(delivery))
    const { early_due_at, integration } = delivery
    const { changes, health } = this.#worker
    const { since } = flight
    const isVoid =
      changes.isVoid(integration.id, since) || changes.hasEnded(delivery, since) || !this.#worker.mayStart(at)
    if (isVoid || (early_due_at !== null && !health.mayBeEarly(integration.id, at))) {
      // The delivery must not be attempted under its lease.
      this.#worker.release([delivery])
      return this.#finish(flight, null)
    }
    this.#sign(flight, at)
  }

  #sign(flight: InFlight, startedAt: number): void {
    const { delivery } = flight
    const { event, integration } = delivery
    const { subscription } = integration
    const seen = this.#views.ofIntegration(integration, event)
    const body = subscription === undefined ? bodyOf(seen) : occurrenceOf(seen, { cursor: subscription.cursor })
    const identity = {
      id: event.id,
      attempt: delivery.attempts + 1,
      signedAt: startedAt,
      expiresAt: expiryOf(policyOf(this.#worker.settings.retry, event.resource_type), event.created_at),
      isReplay: delivery.resend,
      body,
      subscription: subscription?.id
    }
    const secrets = this.#secretsFor(integration, startedAt)
    const signing = headersOf(this.#crypto, identity, secrets)
    if (isSigned(signing)) return this.#post(flight, startedAt, signing.value, body)
    // Asynchronous cryptography, or several secrets.
    this.#run(signing).addObserver((signed) =>
      Exit.isSuccess(signed)
        ? this.#guard(flight, () => this.#post(flight, startedAt, signed.value, body))
        : this.#failed(flight, Cause.squash(signed.cause))
    )
  }

  #post(flight: InFlight, startedAt: number, headers: Headers, body: string): void {
    const { integration } = flight.delivery
    const { allow, headers: own } = this.#targetOf(integration)
    const request = {
      url: integration.configuration.url,
      headers: own === null ? headers : { ...own, ...headers },
      body,
      deadline: this.#worker.settings.ackTimeout,
      allow,
      client: integration.created_by.client_id
    }
    flight.cancel = this.#transport.send(request, (report) =>
      this.#guard(flight, () => this.#answered(flight, startedAt, report))
    )
  }

  #answered(flight: InFlight, startedAt: number, report: TransportReport): void {
    const { delivery } = flight
    if (!isAnswered(report)) {
      if (report._tag === "TransportDefect") return this.#failed(flight, report.cause)
      return report instanceof TransportUnavailable
        ? this.#onOutage(flight, "egress", report)
        : this.#crowdedOut(flight, report.message)
    }
    const { event, integration } = delivery
    const { ackTimeout, retry } = this.#worker.settings
    const attempt = attemptOf(delivery, startedAt, report, ackTimeout, this.#targetOf(integration).rule)
    // A blocked address is refused before any request, so this outcome says nothing about outbound connections.
    if (attempt.outcome !== "blocked_address") this.#succeeded("egress", delivery)
    const at = this.#worker.now()
    this.#conclude(
      flight,
      settleAttempt(delivery, attempt, retryOf(retry, integration, event.resource_type), {
        now: at,
        random: attempt.outcome === "acknowledged" ? 0 : this.#random.nextDoubleUnsafe(),
        retryAfter: report._tag === "Answered" ? parseRetryAfter(report.retry_after, at) : null,
        wasChanged: this.#worker.changes.isVoid(integration.id, flight.since)
      })
    )
  }

  #conclude(flight: InFlight, settlement: Settlement): void {
    const { delivery, since, worker } = flight
    const { id, status } = delivery.integration
    const countsForHealth = status === "enabled" && !this.#worker.changes.isVoid(id, since)
    this.#worker.record({ delivery, settlement, worker, countsForHealth })
    this.#finish(flight, latencyClassOf(settlement))
  }

  /** Ends a delivery's request, so that another delivery of its integration can start. */
  #finish(flight: InFlight, latencyClass: LatencyClass): void {
    const { delivery, isTrial } = flight
    const { breaker, queue } = this.#worker
    this.#inFlight.delete(flight)
    if (isTrial) breaker.endTrial()
    this.#worker.release(queue.finish(delivery, latencyClass))
    // The time of the next trial is known now.
    if (isTrial) this.#worker.reschedule()
    if (this.#inFlight.size === 0) this.#isIdle.openUnsafe()
    this.pump()
  }

  // Deliveries that can't be attempted now.

  #failed(flight: InFlight, defect: unknown): void {
    if (!this.#inFlight.has(flight)) return
    this.#log(logDefect(`${nameOf(flight.delivery)} could not be attempted`, defect))
    this.#defer([flight.delivery])
    this.#finish(flight, null)
  }

  /** Makes deliveries due later after a failure that is not their receivers' fault. */
  #defer(deliveries: ReadonlyArray<LeasedDelivery>): void {
    const at = this.#worker.now()
    this.#worker.release(deliveries, (delivery) => this.#worker.breaker.dueAt(ownerOf(delivery), at))
  }

  #removeDeferred(at: number): ReadonlyArray<LeasedDelivery> {
    const { breaker, queue } = this.#worker
    return queue.removeIf((queued) => breaker.mustDefer(ownerOf(queued), at))
  }

  /**
   * Handles a failure of the directory or of outbound connections: defers the queued deliveries of the user, or of all
   * users.
   */
  #onOutage(flight: InFlight, cause: BreakerCause, error: DirectoryError | TransportUnavailable): void {
    const { delivery } = flight
    const { breaker, queue } = this.#worker
    const owner = ownerOf(delivery)
    const now = this.#worker.now()
    const verdict = breaker.failed(cause, owner, now)
    const others = breaker.isOpen ? this.#removeDeferred(now) : queue.removeIf((queued) => ownerOf(queued) === owner)
    if (verdict === "own") {
      const own = "The directory answers for other users, but not for the integration's owner"
      this.#log(Effect.logWarning(`${nameOf(delivery)} waits. ${own}. ${failureText(error)}`))
    } else if (verdict === "begins") {
      const pace = `One is tried every ${retryLater / 1_000} s until one succeeds`
      this.#log(Effect.logWarning(`All deliveries wait. ${pace}. ${failureText(error)}`))
    }
    this.#defer([delivery, ...others])
    this.#finish(flight, null)
  }

  /** Handles a lack of resources in this process: defers the delivery and all queued deliveries of its integration. */
  #crowdedOut(flight: InFlight, message: string): void {
    const { delivery } = flight
    const now = this.#worker.now()
    if (now >= this.#nextBusyReport) {
      this.#nextBusyReport = now + busyReportEvery
      this.#log(Effect.logWarning(`${nameOf(delivery)} is tried again in ${retryLater / 1_000} s. ${message}`))
    }
    this.#defer([delivery, ...this.#worker.queue.removeOf(delivery.integration.id)])
    // The delivery was in flight until the deadline, like one to a slow receiver.
    this.#finish(flight, "slow")
  }

  /** Notes that the directory or outbound connections work. Logs the end of an outage and the size of the backlog. */
  #succeeded(cause: BreakerCause, delivery: LeasedDelivery): void {
    const lasted = this.#worker.breaker.succeeded(cause, ownerOf(delivery), this.#worker.now())
    if (lasted === null) return
    this.pump()
    this.#worker.signal()
    const after = endText(cause, lasted)
    this.#log(
      this.#store.summary(this.#worker.now()).pipe(
        Effect.flatMap(({ states }) =>
          Effect.logInfo(`${after}. ${states.pending + states.retrying} deliveries wait.`)
        ),
        Effect.catchTag("StoreError", (error) =>
          Effect.logInfo(`${after}. The number of waiting deliveries is unknown: ${error.message}`)
        )
      )
    )
  }

  // What a delivery's integration and event decide.

  #targetOf(integration: Integration): Target {
    const known = this.#targets.get(integration)
    if (known !== undefined) return known
    const target = {
      allow: allowOf(this.#worker.settings.allow, integration),
      rule: acknowledgementOf(integration),
      headers: customHeadersOf(integration)
    }
    this.#targets.set(integration, target)
    return target
  }

  #secretsFor(integration: Integration, at: number): ReadonlyArray<Redacted.Redacted> {
    const { signing } = this.#worker.settings
    // Subscribers always get the signature with their own secret (SEP-3415, section "Webhook security").
    if (integration.subscription !== undefined)
      return [...secretsOf(integration, at), ...(signsWithServiceKey(signing) ? this.#serviceKeys : [])]
    switch (signing) {
      case "hmac":
        return secretsOf(integration, at)
      case "ed25519":
        return this.#serviceKeys
      case "both":
        return [...secretsOf(integration, at), ...this.#serviceKeys]
      case "off":
        return []
    }
  }

  /** Whether the event's lifetime is over. A resend is sent even then, because someone requested it. */
  #isLate({ event, resend }: LeasedDelivery, at: number): boolean {
    return !resend && isExpired(policyOf(this.#worker.settings.retry, event.resource_type), event.created_at, at)
  }

  #log(line: Effect.Effect<void>): void {
    this.#run(Effect.catchDefect(line, () => Effect.void))
  }
}
