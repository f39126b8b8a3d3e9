/**
 * What the log says of receivers that do not acknowledge: a line when an integration begins to fail, and one when it
 * acknowledges again. Not one for each attempt, which nobody would read, and nothing of a single bad moment, which a retry
 * mends.
 */
import { isoOf } from "../../domain/IsoTime.ts"
import { RecentMap } from "../../domain/RecentMap.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Attempt } from "../../domain/Delivery.ts"
import type { Integration } from "../../domain/Integration.ts"
import type { IntegrationNotice } from "../../domain/Notice.ts"
import { explainAttempt } from "../../rules/Explanation.ts"
import { isRedirect } from "../../rules/Redirect.ts"
import { shownHost } from "../../rules/UrlPolicy.ts"

/** So many attempts in a row that were not acknowledged are no bad moment any more. */
export const failuresInARow = 3

/** One that fails, recovers and fails again is told of once in this time, in milliseconds. */
export const quietTime = 10 * 60_000

/** The most that begin to fail which are told within a minute: when a network is away, all of them fail at once. */
export const mostInAMinute = 20
const minute = 60_000

/** The most integrations that are remembered. What is forgotten is told again. */
const mostKnown = 10_000

/** How an integration has failed in this process. */
interface Course {
  /** Attempts in a row that failed. */
  failures: number
  /** When the first of these began. */
  since: number
  /** Whether the log has said so. */
  told: boolean
  /** When the log last said so. */
  toldAt: number
}

/** How an attempt ended that was recorded. */
export interface Recorded {
  readonly integration: Pick<Integration, "id" | "scope" | "configuration">
  readonly attempt: Attempt | null
}

export interface LogLine {
  readonly level: "info" | "warn"
  readonly text: string
}

/** A redirect points to a URL that, like the receiver's own, is nothing for a log. */
export const loggedText = (attempt: Attempt): string =>
  explainAttempt(isRedirect(attempt.status) ? { ...attempt, detail: null } : attempt)

const nameOf = ({ configuration, id, scope }: Recorded["integration"]): string =>
  `Integration ${id} (${shownHost(configuration.url)}) of ${scope.type} ${scope.id}`

export class FailureLog {
  readonly #courses = new RecentMap<IntegrationId, Course>(mostKnown)
  #minute = 0
  #inMinute = 0

  /** What there is to say of attempts that were recorded at a time. What their notices say is not said again. */
  note(
    recorded: ReadonlyArray<Recorded>,
    notices: ReadonlyArray<Pick<IntegrationNotice, "kind" | "integration_id">>,
    now: number
  ): ReadonlyArray<LogLine> {
    const noticed = this.#heed(notices, now)
    return recorded.flatMap(({ attempt, integration }) => {
      if (attempt === null || noticed.has(integration.id)) return []
      return attempt.outcome === "acknowledged"
        ? this.#recovered(integration, now)
        : this.#failed(integration, attempt, now)
    })
  }

  /** Answers those of whom a notice says all there is to say: that they fail, are disabled, or work again. */
  #heed(
    notices: ReadonlyArray<Pick<IntegrationNotice, "kind" | "integration_id">>,
    now: number
  ): ReadonlySet<IntegrationId> {
    const noticed = new Set<IntegrationId>()
    for (const { integration_id: id, kind } of notices) {
      if (kind === "exhausted") continue
      noticed.add(id)
      if (kind === "failing") Object.assign(this.#courseOf(id), { told: true, toldAt: now })
      else this.#courses.delete(id)
    }
    return noticed
  }

  #failed(integration: Recorded["integration"], attempt: Attempt, now: number): ReadonlyArray<LogLine> {
    const course = this.#courseOf(integration.id)
    if (course.failures === 0) course.since = attempt.started_at
    course.failures++
    if (course.told || course.failures < failuresInARow || now - course.toldAt < quietTime) return []
    if (now - this.#minute >= minute) [this.#minute, this.#inMinute] = [now, 0]
    this.#inMinute++
    if (this.#inMinute > mostInAMinute) return this.#inMinute === mostInAMinute + 1 ? [tooMany] : []
    Object.assign(course, { told: true, toldAt: now })
    const text = `${nameOf(integration)} fails: ${course.failures} attempts in a row not acknowledged since ${isoOf(course.since)}. Last: ${loggedText(attempt)}`
    return [{ level: "warn", text }]
  }

  #recovered(integration: Recorded["integration"], now: number): ReadonlyArray<LogLine> {
    const course = this.#courses.get(integration.id)
    if (course === undefined) return []
    const { failures, since, told } = course
    // Only what was told lately is worth remembering of one that works.
    if (now - course.toldAt < quietTime) Object.assign(course, { failures: 0, told: false })
    else this.#courses.delete(integration.id)
    if (!told) return []
    // Of one whose failures a notice told of, none may have been counted here.
    const after = failures === 0 ? "" : `, after ${failures} attempts not acknowledged since ${isoOf(since)}`
    return [{ level: "info", text: `${nameOf(integration)} acknowledges again${after}.` }]
  }

  #courseOf(id: IntegrationId): Course {
    const known = this.#courses.get(id)
    if (known !== undefined) return known
    const course = { failures: 0, since: 0, told: false, toldAt: Number.NEGATIVE_INFINITY }
    this.#courses.set(id, course)
    return course
  }
}

const tooMany: LogLine = {
  level: "warn",
  text: `More than ${mostInAMinute} integrations began to fail within a minute; those that still do are told one after the other. All that fail: doorhook integrations list`
}
