/**
 * Suggests in plain words what can be done about a delivery that is no longer sent. Operators get commands, owners of
 * integrations get actions of the pages.
 */
import type { Delivery } from "../model/Delivery.ts"
import type { Integration } from "../model/Integration.ts"
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
  readonly next: string
  /** The reader's possible actions, in the recommended order. */
  readonly actions: ReadonlyArray<Action>
}

const disabledWords = {
  manual: "by hand",
  gone: "because its receiver answered 410 Gone",
  failing: "because its receiver had acknowledged nothing for too long"
} as const

/** Texts that differ between operators and owners, who act in different places. */
const words = {
  operator: {
    ask: "unless it is asked for: resend this delivery, or recover all of the integration since a time",
    probe:
      "Probe it with one delivery, which enables it when that is acknowledged, or enable it, then resend this delivery or recover all since a time",
    enable: "Enable it, then resend this delivery or recover all since a time",
    rightBack: "When the right is back, resend this delivery",
    tryLate: "To see whether the receiver takes it by now, resend it"
  },
  owner: {
    ask: "by itself. Send this delivery again, or recover all since a time. To see whether the receiver works by now, send a test event first",
    probe:
      "Try it again: that sends the newest event that was not acknowledged, and enables the integration when it is acknowledged. Then send this delivery again, or recover all since a time",
    enable: "Enable it, then send this delivery again, or recover all since a time",
    rightBack: "When the right is back, send this delivery again",
    tryLate: "To see whether the receiver takes it by now, send it again"
  }
} as const satisfies Readonly<Record<Reader, object>>

/** Removes actions that the reader can't take: only operators can allow networks. */
const forReader = (reader: Reader, { actions, next }: Suggestion): Suggestion => ({
  next,
  actions: reader === "operator" ? actions : actions.filter((action) => action !== "allow")
})

/** Says that nothing is sent automatically. "more" only if there was an attempt. */
const noMore = ({ last }: Explained): string => (last === null ? "Nothing is sent" : "Nothing more is sent")

/** Suggests allowing the network if the address is blocked. */
export const allowActions = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** Suggests how to send an ended delivery, depending on the integration. */
export const suggest = (explained: Explained, reader: Reader): Suggestion => {
  const { integration } = explained
  const own = words[reader]
  if (integration === null) return { next: `${noMore(explained)}: the integration was deleted.`, actions: [] }
  const first = allowActions(explained)
  if (integration.status === "enabled") {
    return forReader(reader, {
      next: `${noMore(explained)} ${own.ask}.`,
      actions: [...first, "resend", "recover"]
    })
  }
  const { disabled_reason } = integration
  const isByDoorhook = disabled_reason === "gone" || disabled_reason === "failing"
  return forReader(reader, {
    next: `The integration is disabled, ${disabledWords[disabled_reason ?? "manual"]}. ${isByDoorhook ? own.probe : own.enable}.`,
    actions: [...first, ...(isByDoorhook ? (["probe"] as const) : []), "enable", "resend", "recover"]
  })
}

/** Suggestion for a delivery cancelled by the deletion of its integration. */
export const suggestForDeleted = (explained: Explained): Suggestion => ({ next: `${noMore(explained)}.`, actions: [] })

/** Suggestion for a delivery whose integration's owner has lost the right to the event. */
export const suggestForRightLost = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, { next: `${noMore(explained)}. ${words[reader].rightBack}.`, actions: ["resend"] })

/** Suggestion for an expired delivery of an enabled integration. */
export const suggestForExpired = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, {
    next: `${noMore(explained)}: it would come too late to be of use. ${words[reader].tryLate}.`,
    actions: [...allowActions(explained), "resend"]
  })
