/**
 * How each integration does, as this process sees it: which ones fail and since when, what the log says about it, and
 * which ones catch up after an outage. What operators are notified of, and when an integration is disabled, is decided
 * where outcomes are stored (`delivery/HealthRules`).
 *
 * The log gets a line when an integration begins to fail, when it goes on failing for another cause, and when it acknowledges
 * again: not one for each attempt, and nothing about a single failure, which a retry mends.
 *
 * Plain data: nothing here waits. All times are in milliseconds since the epoch.
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

/** This many failed attempts in a row are logged. */
export const failuresInARow = 3

/** An integration that fails, recovers and fails again is logged once in this time for each cause, in milliseconds. */
export const logCooldown = 10 * 60_000

/** The most integrations that are logged as failing within a minute: when a network is away, all of them fail at once. */
export const mostInAMinute = 20
const minute = 60_000

/** The most integrations that are remembered. */
const mostKnown = 10_000

/** How long an integration must have failed for its retries to be sent early, in milliseconds. */
const catchUpAfter = minute

/** Failed attempts of one integration, with no success between them. */
export interface FailureStreak {
  readonly integration_id: IntegrationId
  readonly failures: number
  /** When the first of them started. */
  readonly since: number
}

/** An integration whose waiting retries are sent early. */
export interface CatchingUp {
  readonly integration_id: IntegrationId
  /** When it began. */
  readonly since: number
}

/** How an integration has failed in this process. */
interface FailureRun {
  /** Failed attempts in a row. */
  failures: number
  /** When the first of them began. */
  since: number
  /** Whether the log has said so. */
  isLogged: boolean
  /** When the log last said so. */
  loggedAt: number
  /** The outcome and status of the last attempt; empty before the first. */
  cause: string
  /** How many attempts in a row ended with this cause. */
  sameCause: number
  /** When the log last named each cause, the last one at the end. */
  readonly loggedCauses: Map<string, number>
}

/** An outcome that was recorded. */
export interface Recorded {
  readonly delivery: { readonly integration: Pick<Integration, "id" | "scope" | "configuration"> }
  readonly settlement: { readonly attempt: Attempt | null }
}

export interface LogLine {
  readonly level: "info" | "warn"
  readonly text: string
}

/** An integration that catches up: how many early retries may be open, and which ones are. */
interface CatchUp {
  readonly since: number
  /** Not before this time: its receiver asked for no requests until then. */
  notBefore: number
  /** One at first; twice as many after each round that was acknowledged, up to the integration's places. */
  window: number
  readonly open: Set<DeliveryId>
}

/** A redirect points to a URL that may hold a secret, like the receiver's own. */
const loggedText = (attempt: Attempt): string =>
  english(...explainAttempt(isRedirect(attempt.status) ? { ...attempt, detail: null } : attempt))

const noneReported: ReadonlySet<IntegrationId> = new Set()

const causeOf = ({ outcome, status }: Attempt): string => `${outcome} ${status ?? ""}`

/** Whether attempts fail for a cause that is not the one logged last, nor was logged lately: causes may alternate. */
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

/** The last attempt of each integration, for the text of its notifications. */
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
  text: `More than ${mostInAMinute} integrations began to fail within a minute; the log names no more of them until then. All that fail: doorhook integrations list`
}

export class IntegrationHealth {
  private readonly runs = new RecentMap<IntegrationId, FailureRun>(mostKnown)
  private readonly streaks = new Map<IntegrationId, FailureStreak>()
  private readonly catchUps = new Map<IntegrationId, CatchUp>()
  /** Until when receivers asked this process for no requests (`Retry-After`). */
  private readonly waits = new RecentMap<IntegrationId, number>(mostKnown)
  private minuteBegan = 0
  private inMinute = 0

  /** How many integrations failed at their last attempt. */
  get failing(): number {
    return this.streaks.size
  }

  /** The longest streaks of failures, the longest first. */
  worst(limit: number): ReadonlyArray<FailureStreak> {
    return [...this.streaks.values()].toSorted((a, b) => b.failures - a.failures || a.since - b.since).slice(0, limit)
  }

  /** An attempt has ended. */
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

  /** An integration was changed or deleted: what is known about it is void. */
  forget(id: IntegrationId): void {
    this.streaks.delete(id)
    this.catchUps.delete(id)
  }

  /** The log lines about recorded attempts. What their notifications say is not repeated. */
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

  /** Returns the integrations about which a notification says everything: that they fail, are disabled, or work again. */
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
    // Of an integration that works only what was logged lately is worth remembering.
    if (now - run.loggedAt < logCooldown) Object.assign(run, { failures: 0, isLogged: false, cause: "", sameCause: 0 })
    else this.runs.delete(integration.id)
    if (!isLogged) return null
    // Of one whose failures a notification reported, none may have been counted here.
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

  /** An integration acknowledges again: its retries are sent early if it failed for long enough. */
  recovered({ failing_since, integration_id, retry_after }: Recovery, now: number): void {
    if (now - failing_since < catchUpAfter) return
    const notBefore = Math.max(now, retry_after ?? 0, this.waits.get(integration_id) ?? 0)
    this.catchUps.set(integration_id, { since: now, notBefore, window: 1, open: new Set() })
  }

  /** A receiver asks for no requests until a time: no retry is sent early before. */
  askedToWait(id: IntegrationId, until: number): void {
    this.waits.set(id, Math.max(until, this.waits.get(id) ?? 0))
    const catchUp = this.catchUps.get(id)
    if (catchUp !== undefined) catchUp.notBefore = Math.max(catchUp.notBefore, until)
  }

  /** Whether a retry of an integration may be sent early now. */
  mayBeEarly(id: IntegrationId, now: number): boolean {
    const catchUp = this.catchUps.get(id)
    return catchUp !== undefined && catchUp.notBefore <= now
  }

  /** An early retry was given back unattempted: while its receiver asks to wait, it is sent early later, otherwise none is. */
  gaveBackEarly({ id, integration }: LeasedDelivery, now: number): void {
    const catchUp = this.catchUps.get(integration.id)
    if (catchUp === undefined) return
    if (catchUp.notBefore > now) catchUp.open.delete(id)
    else this.catchUps.delete(integration.id)
  }

  /** When early retries of the first integration that waits for some can be claimed; null when none can. */
  nextEarly(): number | null {
    let earliest: number | null = null
    for (const { notBefore, open } of this.catchUps.values())
      if (open.size === 0 && (earliest === null || notBefore < earliest)) earliest = notBefore
    return earliest
  }

  /** The integrations whose next round of early retries can be claimed, and how many of each. */
  earlyRounds(now: number): ReadonlyArray<{ readonly id: IntegrationId; readonly window: number }> {
    const rounds: Array<{ readonly id: IntegrationId; readonly window: number }> = []
    for (const [id, { notBefore, open, window }] of this.catchUps)
      if (open.size === 0 && notBefore <= now) rounds.push({ id, window })
    return rounds
  }

  /** A round was claimed. With none left to send, the integration has caught up. */
  claimedEarly(id: IntegrationId, deliveries: ReadonlyArray<LeasedDelivery>): void {
    const catchUp = this.catchUps.get(id)
    if (catchUp === undefined) return
    if (deliveries.length === 0) this.catchUps.delete(id)
    for (const delivery of deliveries) catchUp.open.add(delivery.id)
  }

  /** An early retry was acknowledged; `most` is how many may be open at once. Says whether the next round can begin. */
  acknowledgedEarly({ id, integration }: LeasedDelivery, most: number): boolean {
    const catchUp = this.catchUps.get(integration.id)
    // One that an earlier catching up has left open does not count.
    if (catchUp === undefined || !catchUp.open.delete(id) || catchUp.open.size > 0) return false
    catchUp.window = Math.min(2 * catchUp.window, most)
    return true
  }

  /** An early retry failed: no further ones are sent. */
  stopEarly(id: IntegrationId): void {
    this.catchUps.delete(id)
  }
}
