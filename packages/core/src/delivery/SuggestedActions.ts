/**
 * Suggests in plain words what can be done about a delivery that is no longer sent. Operators get commands; owners of
 * integrations get actions on the pages.
 */
import type { Delivery } from "../model/Delivery.ts"
import type { Integration } from "../model/Integration.ts"
import type { Sentence, SentenceKey, Sentences } from "../model/Sentences.ts"
import { say } from "../model/Sentences.ts"
import type { ExplainedAttempt, Reader } from "./AttemptExplanation.ts"

/** The input of an explanation. */
export interface Explained {
  readonly delivery: Pick<Delivery, "state" | "reason" | "attempts" | "next_attempt_at">
  /** The delivery's last attempt; null before the first. */
  readonly last: ExplainedAttempt | null
  /** The current state of its integration; null if it was deleted. */
  readonly integration: Pick<Integration, "status" | "disabled_reason"> | null
  /** End of the event's lifetime, in milliseconds since the epoch, if known. */
  readonly lifetime_over_at?: number | null
}

/**
 * Actions, as the operator API names them: allow the integration's network, probe the integration with one delivery,
 * enable it, resend the delivery, or recover all unacknowledged deliveries of the integration since a given time.
 */
export const actions = ["allow", "probe", "enable", "resend", "recover"] as const
export type Action = (typeof actions)[number]

export interface Suggestion {
  readonly next: Sentences
  /** What the reader can do, most helpful action first. */
  readonly actions: ReadonlyArray<Action>
}

/** Advice that differs between operators and owners. */
const advice = {
  operator: {
    resend: "remedy_resend",
    probe: "remedy_probe",
    enable: "remedy_enable",
    rightBack: "remedy_right_back",
    tryLate: "remedy_try_late"
  },
  owner: {
    resend: "remedy_resend_owner",
    probe: "remedy_probe_owner",
    enable: "remedy_enable_owner",
    rightBack: "remedy_right_back_owner",
    tryLate: "remedy_try_late_owner"
  }
} as const satisfies Readonly<Record<Reader, Readonly<Record<string, SentenceKey>>>>

/** Removes actions that the reader can't take: only operators can allow networks. */
const forReader = (reader: Reader, { actions, next }: Suggestion): Suggestion => ({
  next,
  actions: reader === "operator" ? actions : actions.filter((action) => action !== "allow")
})

const noMore = ({ last }: Explained): Sentence => say(last === null ? "remedy_nothing" : "remedy_nothing_more")

/** Returns the action `allow` if the last attempt's address was not allowed. */
export const allowActions = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** Suggests how to send an ended delivery, depending on the state of its integration. */
export const suggest = (explained: Explained, reader: Reader): Suggestion => {
  const { integration } = explained
  const own = advice[reader]
  if (integration === null) return { next: [noMore(explained), say("remedy_deleted")], actions: [] }
  const first = allowActions(explained)
  if (integration.status === "enabled") {
    return forReader(reader, {
      next: [noMore(explained), say(own.resend)],
      actions: [...first, "resend", "recover"]
    })
  }
  const { disabled_reason } = integration
  const isByDoorhook = disabled_reason === "gone" || disabled_reason === "failing"
  return forReader(reader, {
    next: [say(`remedy_${disabled_reason ?? "manual"}`), say(isByDoorhook ? own.probe : own.enable)],
    actions: [...first, ...(isByDoorhook ? (["probe"] as const) : []), "enable", "resend", "recover"]
  })
}

/** Suggestion for a delivery that had not ended when its integration was deleted. */
export const suggestForDeleted = (explained: Explained): Suggestion => ({ next: [noMore(explained)], actions: [] })

/** Suggestion for a delivery whose integration's creator no longer has a right to the event. */
export const suggestForRightLost = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, { next: [noMore(explained), say(advice[reader].rightBack)], actions: ["resend"] })

/** Suggestion for an expired delivery of an enabled integration. */
export const suggestForExpired = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, {
    next: [noMore(explained), say("remedy_too_late"), say(advice[reader].tryLate)],
    actions: [...allowActions(explained), "resend"]
  })
