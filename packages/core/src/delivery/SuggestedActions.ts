/**
 * What can be done about a delivery that is not sent any more, in plain words: by operators, with their commands, and by the
 * owner of the integration, on the pages of the service.
 */
import type { Delivery } from "../model/Delivery.ts"
import type { Integration } from "../model/Integration.ts"
import type { Sentence, SentenceKey, Sentences } from "../model/Sentences.ts"
import { say } from "../model/Sentences.ts"
import type { ExplainedAttempt, Reader } from "./AttemptExplanation.ts"

/** What is known of a delivery. */
export interface Explained {
  readonly delivery: Pick<Delivery, "state" | "reason" | "attempts" | "next_attempt_at">
  /** Its last attempt; null before the first. */
  readonly last: ExplainedAttempt | null
  /** Its integration as it is now; null when it was deleted. */
  readonly integration: Pick<Integration, "status" | "disabled_reason"> | null
  /** When its event became too old to be worth an attempt, in milliseconds since the epoch, where that is known. */
  readonly lifetime_over_at?: number | null
}

/**
 * What can be done about a delivery, as the operator API names it: allow the integration its
 * network, probe it with one delivery, enable it, send the delivery again, or recover all of the integration since then.
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

/** Networks are the operator's to allow. */
const forReader = (reader: Reader, { actions, next }: Suggestion): Suggestion => ({
  next,
  actions: reader === "operator" ? actions : actions.filter((action) => action !== "allow")
})

const noMore = ({ last }: Explained): Sentence => say(last === null ? "remedy_nothing" : "remedy_nothing_more")

/** An address that is not allowed stays so until an operator allows it. */
export const allowActions = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** What stands in the way of sending, and how to. */
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

/** Of a delivery that is too late, to an integration that could be sent to. */
export const suggestForExpired = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, {
    next: [noMore(explained), say("remedy_too_late"), say(advice[reader].tryLate)],
    actions: [...allowActions(explained), "resend"]
  })
