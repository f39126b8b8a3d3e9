/**
 * What can be done about a delivery that is not sent any more, in plain words: by whoever runs the service, and by whoever owns
 * the integration, who has a page of its own and nobody's commands.
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
 * What somebody who runs the service can do about a delivery, as the operator API names it: allow the integration its
 * network, probe it with one delivery, enable it, send the delivery again, or recover all of the integration since then.
 */
export const actions = ["allow", "probe", "enable", "resend", "recover"] as const
export type Action = (typeof actions)[number]

export interface Remedy {
  readonly next: string
  /** What can be done, in the order in which it helps; nothing for an owner, to whom the operator API is closed. */
  readonly actions: ReadonlyArray<Action>
}

const disabledWords = {
  manual: "by hand",
  gone: "because its receiver answered 410 Gone",
  failing: "because its receiver had acknowledged nothing for too long"
} as const

/** What a reader is told where the two can do different things. */
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
    ask: "by itself. Those who run this service can send this delivery again, or all since a time. To see whether the receiver works by now, send a test event from the page of all deliveries",
    probe:
      "Try it again on the page of all deliveries: that sends the newest event that was not acknowledged, and enables the integration when it is acknowledged. Then those who run this service can send this delivery again, or all since a time",
    enable: "Ask those who run this service to enable it, and to send this delivery again, or all since a time",
    rightBack: "When the right is back, ask those who run this service to send this delivery again",
    tryLate: "To see whether the receiver works by now, send a test event from the page of all deliveries"
  }
} as const satisfies Readonly<Record<Reader, object>>

const forReader = (reader: Reader, { actions, next }: Remedy): Remedy => ({
  next,
  actions: reader === "operator" ? actions : []
})

/** Nothing is sent by itself any more; what was never sent is not sent again. */
const noMore = ({ last }: Explained): string => (last === null ? "Nothing is sent" : "Nothing more is sent")

/** An address that is not allowed stays so until somebody allows it. */
export const allowFirst = ({ last }: Explained): ReadonlyArray<Action> =>
  last?.outcome === "blocked_address" ? ["allow"] : []

/** What stands in the way of sending, and how to. */
export const remedy = (explained: Explained, reader: Reader): Remedy => {
  const { integration } = explained
  const own = words[reader]
  if (integration === null) return { next: `${noMore(explained)}: the integration was deleted.`, actions: [] }
  const first = allowFirst(explained)
  if (integration.status === "enabled") {
    return forReader(reader, {
      next: `${noMore(explained)} ${own.ask}.`,
      actions: [...first, "resend", "recover"]
    })
  }
  const { disabled_reason } = integration
  const isOurs = disabled_reason === "gone" || disabled_reason === "failing"
  return forReader(reader, {
    next: `The integration is disabled, ${disabledWords[disabled_reason ?? "manual"]}. ${isOurs ? own.probe : own.enable}.`,
    actions: [...first, ...(isOurs ? (["probe"] as const) : []), "enable", "resend", "recover"]
  })
}

/** Of a delivery whose integration was deleted before its end. */
export const deleted = (explained: Explained): Remedy => ({ next: `${noMore(explained)}.`, actions: [] })

/** Of a delivery that its receiver has no right to any more. */
export const rightLost = (explained: Explained, reader: Reader): Remedy =>
  forReader(reader, { next: `${noMore(explained)}. ${words[reader].rightBack}.`, actions: ["resend"] })

/** Of a delivery that is too late, to an integration that could be sent to. */
export const tooLate = (explained: Explained, reader: Reader): Remedy =>
  forReader(reader, {
    next: `${noMore(explained)}: it would come too late to be of use. ${words[reader].tryLate}.`,
    actions: [...allowFirst(explained), "resend"]
  })
