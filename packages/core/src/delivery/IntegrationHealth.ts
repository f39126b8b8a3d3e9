/**
 * The health of integrations, judged by the attempts of this process: which integrations fail, and which ones catch up
 * after an outage. Also decides what is logged about them. `delivery/HealthRules` decides about notifications and about
 * disabling an integration, when outcomes are stored.
 *
 * A line is logged when an integration begins to fail, continues to fail for another cause, or acknowledges again.
 * Single failures are not logged, because a retry usually succeeds.
 *
 * Plain state without timers or I/O. All times are in milliseconds since the epoch.
 */
import type { Attempt, LeasedDelivery } from "../model/Delivery.ts"
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { scopeText } from "../model/Integration.ts"
import { isoOf } from "../model/IsoTime.ts"
import type { IntegrationNotification, LastAttemptSummary } from "../model/Notification.ts"
import { RecentMap } from "../model/RecentMap.ts"
import type { Recovery } from "../ports/DeliveryStore.ts"
import { english } from "../model/Sentences.ts"
import { explainAttempt } from "./Explanation.ts"
import { isRedirect } from "./Redirect.ts"
import { shownHost } from "../model/UrlPolicy.ts"
import { retryLater } from "./EngineConstants.ts"

/** Consecutive failures before the log reports an integration. */
export const failuresInARow = 3

/** Shortest time between two log lines about the same integration and cause, in milliseconds. */
export const logCooldown = 10 * 60_000

/** Maximum number of integrations reported per minute. When a network fails, all integrations fail at the same time. */
export const mostInAMinute = 20
const minute = 60_000

/** Maximum number of tracked integrations. */
const mostKnown = 10_000

/** Shortest outage of an integration after which its retries are sent early, in milliseconds. */
const catchUpAfter = minute

/** Consecutive failed attempts of an integration. */
export interface FailureStreak {
  readonly integration_id: IntegrationId
  readonly failures: number
  /** Start of the first failed attempt. */
  readonly since: number
}

/** An integration whose waiting retries are sent early. */
export interface CatchingUp {
  readonly integration_id: IntegrationId
  /** When this process began to send the integration's retries early. */
  readonly since: number
}

/** The current failures of an integration, for the log. */
interface FailureRun {
  /** Consecutive failed attempts. */
  failures: number
  /** Start of the first failed attempt. */
  since: number
  /** Whether these failures have been logged. */
  isLogged: boolean
  /** When the log last reported this integration. */
  loggedAt: number
  /** The outcome and status of the last attempt; empty before the first. */
  cause: string
  /** Number of consecutive attempts that ended with this cause. */
  sameCause: number
  /** When each cause was last logged, most recent last. */
  readonly loggedCauses: Map<string, number>
}

/** A recorded outcome. */
export interface Recorded {
  readonly delivery: { readonly integration: Pick<Integration, "id" | "scope" | "configuration"> }
  readonly settlement: { readonly attempt: Attempt | null }
}

export interface LogLine {
  readonly level: "info" | "warn"
  readonly text: string
}

/** Progress of an integration that catches up. */
interface CatchUp {
  readonly since: number
  /** Earliest time of the next round, because of the receiver's `Retry-After` or of retries that were released. */
  notBefore: number
  /**
   * Maximum number of early retries per round. It starts at 1 and doubles after each acknowledged round, up to a limit.
   */
  window: number
  readonly open: Set<DeliveryId>
}

/** Explains an attempt for the log, without the target of a redirect, which may contain a secret. */
const loggedText = (attempt: Attempt): string =>
  english(...explainAttempt(isRedirect(attempt.status) ? { ...attempt, detail: null } : attempt))

const noneReported: ReadonlySet<IntegrationId> = new Set()

const causeOf = ({ outcome, status }: Attempt): string => `${outcome} ${status ?? ""}`

/**
 * Whether attempts fail for a new cause. A cause that was logged last or recently is not new, because causes may
 * alternate.
 */
const hasNewCause = ({ cause, loggedCauses, sameCause }: FailureRun, now: number): boolean =>
  loggedCauses.size > 0 &&
  sameCause >= failuresInARow &&
  [...loggedCauses.keys()].at(-1) !== cause &&
  now - (loggedCauses.get(cause) ?? Number.NEGATIVE_INFINITY) >= logCooldown

const noteLogged = (run: FailureRun, cause: string, now: number): void => {
  Object.assign(run, { isLogged: true, loggedAt: now })
  for (const [known, at] of run.loggedCauses)
    if (known === cause || now - at >= logCooldown) run.loggedCauses.delete(known)
  run.loggedCauses.set(cause, now)
}

/** Returns the last attempt of each integration, for the text of its notifications. */
export const lastAttempts = (recorded: ReadonlyArray<Recorded>): ReadonlyMap<IntegrationId, LastAttemptSummary> => {
  const seen = new Map<IntegrationId, LastAttemptSummary>()
  for (const { delivery, settlement } of recorded) {
    const { configuration, id } = delivery.integration
    const { attempt } = settlement
    const last = attempt === null || attempt.outcome === "acknowledged" ? "" : loggedText(attempt)
    seen.set(id, { host: shownHost(configuration.url), last })
  }
  return seen
}

type Named = Recorded["delivery"]["integration"]

const nameOf = ({ configuration, id, scope }: Named): string =>
  `Integration ${id} (${shownHost(configuration.url)}) of ${scopeText(scope)}`

const tooMany: LogLine = {
  level: "warn",
  text: `More than ${mostInAMinute} integrations began to fail within a minute. The rest of that minute's failures are not logged. To see all: doorhook integrations list`
}

export class IntegrationHealth {
  private readonly runs = new RecentMap<IntegrationId, FailureRun>(mostKnown)
  private readonly streaks = new Map<IntegrationId, FailureStreak>()
  private readonly catchUps = new Map<IntegrationId, CatchUp>()
  /** Latest `Retry-After` time that this process has received from each receiver. */
  private readonly waits = new RecentMap<IntegrationId, number>(mostKnown)
  private minuteBegan = 0
  private inMinute = 0

  /** Number of integrations whose last attempt failed. */
  get failing(): number {
    return this.streaks.size
  }

  /** Returns the integrations with the most consecutive failures, worst first. */
  worst(limit: number): ReadonlyArray<FailureStreak> {
    return [...this.streaks.values()].toSorted((a, b) => b.failures - a.failures || a.since - b.since).slice(0, limit)
  }

  /** Notes the end of an attempt. */
  attempted(integration_id: IntegrationId, attempt: Attempt): void {
    if (attempt.outcome === "acknowledged") {
      if (this.streaks.size > 0) this.streaks.delete(integration_id)
      return
    }
    const { failures, since } = this.streaks.get(integration_id) ?? { failures: 0, since: attempt.started_at }
    if (failures > 0 || this.streaks.size < mostKnown) {
      this.streaks.set(integration_id, { integration_id, failures: failures + 1, since })
    }
  }

  /** Forgets an integration that was changed or deleted. */
  forget(id: IntegrationId): void {
    this.streaks.delete(id)
    this.catchUps.delete(id)
  }

  /** Returns the log lines for recorded attempts. Integrations with a notification in the same batch get no line. */
  recorded(
    recorded: ReadonlyArray<Recorded>,
    notifications: ReadonlyArray<Pick<IntegrationNotification, "kind" | "integration_id">>,
    now: number
  ): ReadonlyArray<LogLine> {
    const reported = this.takeNotifications(notifications, now)
    const lines: Array<LogLine> = []
    for (const { delivery, settlement } of recorded) {
      const { attempt } = settlement
      const { integration } = delivery
      if (attempt === null) continue
      if (reported.has(integration.id)) {
        const run = this.runs.get(integration.id)
        if (run !== undefined && attempt.outcome !== "acknowledged") noteLogged(run, causeOf(attempt), now)
        continue
      }
      const line =
        attempt.outcome === "acknowledged"
          ? this.acknowledged(integration, now)
          : this.failed(integration, attempt, now)
      if (line !== null) lines.push(line)
    }
    return lines
  }

  /** Returns the integrations whose notification makes a log line unnecessary. */
  private takeNotifications(
    notifications: ReadonlyArray<Pick<IntegrationNotification, "kind" | "integration_id">>,
    now: number
  ): ReadonlySet<IntegrationId> {
    if (notifications.length === 0) return noneReported
    const reported = new Set<IntegrationId>()
    for (const { integration_id: id, kind } of notifications) {
      if (kind === "exhausted") continue
      reported.add(id)
      if (kind === "failing") Object.assign(this.runOf(id), { isLogged: true, loggedAt: now })
      else this.runs.delete(id)
    }
    return reported
  }

  private failed(integration: Named, attempt: Attempt, now: number): LogLine | null {
    const run = this.runOf(integration.id)
    if (run.failures === 0) run.since = attempt.started_at
    run.failures++
    const cause = causeOf(attempt)
    run.sameCause = cause === run.cause ? run.sameCause + 1 : 1
    run.cause = cause
    const begins = !run.isLogged && run.failures >= failuresInARow && now - run.loggedAt >= logCooldown
    if (!begins && !hasNewCause(run, now)) return null
    if (now - this.minuteBegan >= minute) [this.minuteBegan, this.inMinute] = [now, 0]
    this.inMinute++
    if (this.inMinute > mostInAMinute) return this.inMinute === mostInAMinute + 1 ? tooMany : null
    const fails = run.isLogged ? "fails for another reason now" : "fails"
    noteLogged(run, cause, now)
    const text = `${nameOf(integration)} ${fails}: ${run.failures} attempts in a row not acknowledged since ${isoOf(run.since)}. Last: ${loggedText(attempt)}`
    return { level: "warn", text }
  }

  private acknowledged(integration: Named, now: number): LogLine | null {
    const run = this.runs.get(integration.id)
    if (run === undefined) return null
    const { failures, isLogged, since } = run
    // A working integration is only remembered if it was logged recently.
    if (now - run.loggedAt < logCooldown) Object.assign(run, { failures: 0, isLogged: false, cause: "", sameCause: 0 })
    else this.runs.delete(integration.id)
    if (!isLogged) return null
    // `failures` is 0 if another process counted them and a notification reported them.
    const after = failures === 0 ? "" : `, after ${failures} attempts not acknowledged since ${isoOf(since)}`
    return { level: "info", text: `${nameOf(integration)} acknowledges again${after}.` }
  }

  private runOf(id: IntegrationId): FailureRun {
    const known = this.runs.get(id)
    if (known !== undefined) return known
    const run: FailureRun = {
      failures: 0,
      since: 0,
      isLogged: false,
      loggedAt: Number.NEGATIVE_INFINITY,
      cause: "",
      sameCause: 0,
      loggedCauses: new Map()
    }
    this.runs.set(id, run)
    return run
  }

  /** The integrations that catch up. */
  get catchingUp(): ReadonlyArray<CatchingUp> {
    return Array.from(this.catchUps, ([integration_id, { since }]) => ({ integration_id, since }))
  }

  /** Notes that an integration has recovered. Its retries are sent early if the outage was long enough. */
  recovered({ failing_since, integration_id, retry_after }: Recovery, now: number): void {
    if (now - failing_since < catchUpAfter) return
    const notBefore = Math.max(now, retry_after ?? 0, this.waits.get(integration_id) ?? 0)
    this.catchUps.set(integration_id, { since: now, notBefore, window: 1, open: new Set() })
  }

  /** Notes a `Retry-After`: no retry is sent early before `until`. */
  askedToWait(id: IntegrationId, until: number): void {
    this.waits.set(id, Math.max(until, this.waits.get(id) ?? 0))
    const catchUp = this.catchUps.get(id)
    if (catchUp !== undefined) catchUp.notBefore = Math.max(catchUp.notBefore, until)
  }

  /** Whether retries of an integration may be sent early now. */
  mayBeEarly(id: IntegrationId, now: number): boolean {
    const catchUp = this.catchUps.get(id)
    return catchUp !== undefined && catchUp.notBefore <= now
  }

  /**
   * Notes an early retry that was released without an attempt. The catch-up pauses and then begins again with a single
   * retry.
   */
  gaveBackEarly({ id, integration }: LeasedDelivery, now: number): void {
    const catchUp = this.catchUps.get(integration.id)
    // A retry from an earlier recovery does not count.
    if (catchUp === undefined || !catchUp.open.has(id)) return
    catchUp.open.clear()
    catchUp.window = 1
    catchUp.notBefore = Math.max(catchUp.notBefore, now + retryLater)
  }

  /** Returns when the next round of early retries can be claimed for any integration; null if no round is waiting. */
  nextEarly(): number | null {
    let earliest: number | null = null
    for (const { notBefore, open } of this.catchUps.values())
      if (open.size === 0 && (earliest === null || notBefore < earliest)) earliest = notBefore
    return earliest
  }

  /** Returns the integrations whose next round can be claimed now, with the size of the round. */
  earlyRounds(now: number): ReadonlyArray<{ readonly id: IntegrationId; readonly window: number }> {
    const rounds: Array<{ readonly id: IntegrationId; readonly window: number }> = []
    for (const [id, { notBefore, open, window }] of this.catchUps)
      if (open.size === 0 && notBefore <= now) rounds.push({ id, window })
    return rounds
  }

  /** Notes a claimed round. An empty round means that the integration has caught up. */
  claimedEarly(id: IntegrationId, deliveries: ReadonlyArray<LeasedDelivery>): void {
    const catchUp = this.catchUps.get(id)
    if (catchUp === undefined) return
    if (deliveries.length === 0) this.catchUps.delete(id)
    for (const delivery of deliveries) catchUp.open.add(delivery.id)
  }

  /** Notes an acknowledged early retry. `most` limits the next round. Returns whether the next round can begin. */
  acknowledgedEarly({ id, integration }: LeasedDelivery, most: number): boolean {
    const catchUp = this.catchUps.get(integration.id)
    // A retry from an earlier recovery does not count.
    if (catchUp === undefined || !catchUp.open.delete(id) || catchUp.open.size > 0) return false
    catchUp.window = Math.min(2 * catchUp.window, most)
    return true
  }

  /** Stops sending an integration's retries early. */
  stopEarly(id: IntegrationId): void {
    this.catchUps.delete(id)
  }
}
