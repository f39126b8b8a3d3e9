/**
 * What can be done about a delivery that is not sent any more, in plain words: by operators, with their commands, and by the
 * owner of the integration, on the pages of the service.
 */
import type { Delivery } from "../model/Delivery.ts"
import type { Integration } from "../model/Integration.ts"
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
  readonly next: string
  /** What the reader can do, in the order in which it helps. */
  readonly actions: ReadonlyArray<Action>
}

const disabledWords = {
  manual: "by hand",
  gone: "because its receiver answered 410 Gone",
  failing: "because its receiver had acknowledged nothing for too long"
} as const

/** Advice where operators and owners do it in different places. */
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

/** Networks are the operator's to allow. */
const forReader = (reader: Reader, { actions, next }: Suggestion): Suggestion => ({
  next,
  actions: reader === "operator" ? actions : actions.filter((action) => action !== "allow")
})

/** Nothing is sent by itself any more; what was never sent is not sent again. */
const noMore = ({ last }: Explained): string => (last === null ? "Nothing is sent" : "Nothing more is sent")

/** An address that is not allowed stays so until somebody allows it. */
export const allowActions = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** What stands in the way of sending, and how to. */
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

/** Of a delivery whose integration was deleted before its end. */
export const suggestForDeleted = (explained: Explained): Suggestion => ({ next: `${noMore(explained)}.`, actions: [] })

/** Of a delivery that its receiver has no right to any more. */
export const suggestForRightLost = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, { next: `${noMore(explained)}. ${words[reader].rightBack}.`, actions: ["resend"] })

/** Of a delivery that is too late, to an integration that could be sent to. */
export const suggestForExpired = (explained: Explained, reader: Reader): Suggestion =>
  forReader(reader, {
    next: `${noMore(explained)}: it would come too late to be of use. ${words[reader].tryLate}.`,
    actions: [...allowActions(explained), "resend"]
  })
