/**
 * Suggests in plain words what can be done about a delivery that is no longer sent. Operators get commands, owners of
 * integrations get actions of the pages.
 */
import type { Delivery } from "../model/Delivery.ts"
import type { Integration } from "../model/Integration.ts"
import type { Sentence, SentenceKey, Sentences } from "../model/Sentences.ts"
import { say } from "../model/Sentences.ts"
import type { ExplainedAttempt, Reader } from "./AttemptExplanation.ts"

/** The input of an explanation. */
export interface Explained {
  readonly delivery: Pick<Delivery, "state" | "reason" | "attempts" | "next_attempt_at">
  /** Its last attempt; null before the first. */
  readonly last: ExplainedAttempt | null
  /** Its integration as it is now; null when it was deleted. */
  readonly integration: Pick<Integration, "status" | "disabled_reason"> | null
  /** When the event's lifetime ended, in milliseconds since the epoch, if known. */
  readonly lifetime_over_at?: number | null
}

/**
 * Actions, as the operator API names them: allow the integration's network, probe the integration with one delivery, enable
 * it, resend the delivery, or recover all unacknowledged deliveries of the integration since a time.
 */
export const actions = ["allow", "probe", "enable", "resend", "recover"] as const
export type Action = (typeof actions)[number]

export interface Suggestion {
  readonly next: Sentences
  /** What the reader can do, in the order in which it helps. */
  readonly actions: ReadonlyArray<Action>
}

/** Advice where operators and owners do it in different places. */
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

/** An address that is not allowed stays so until an operator allows it. */
export const allowActions = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** Suggests how to send an ended delivery, depending on the integration. */
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

/** Of a delivery whose integration was deleted before its end. */
export const suggestForDeleted = (explained: Explained): Suggestion => ({ next: [noMore(explained)], actions: [] })

/** Of a delivery whose integration's creator has no right to the event any more. */
export const suggestForRightLost = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, { next: [noMore(explained), say(advice[reader].rightBack)], actions: ["resend"] })

/** Suggestion for an expired delivery of an enabled integration. */
export const suggestForExpired = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, {
    next: [noMore(explained), say("remedy_too_late"), say(advice[reader].tryLate)],
    actions: [...allowActions(explained), "resend"]
  })
