/**
 * What a sender must do: one block for each requirement, with the rule that judges it.
 */
import { Predicate } from "effect"
import type { Verdict } from "../judgement/Verdict.ts"
import { acknowledges, webhookIdOf } from "./Host.ts"
import type { Observation, SeenAttempt, SeenEvent, Treatment } from "./Host.ts"

export interface SenderTerms {
  /** How long the sender should wait for an answer, in milliseconds. */
  readonly deadline: number
  /** Measuring error to allow for, in milliseconds. A sender may give up this much before the deadline. */
  readonly guard: number
  /** How long the sender must stay silent to count as having stopped, in milliseconds. */
  readonly quiet: number
  /** The attempts with wrong signatures, each with what is wrong; null without the secret. */
  readonly signatures: ReadonlyMap<SeenAttempt, string> | null
}

interface SenderFinding {
  readonly verdict: Verdict
  readonly observed: string
  /** The event that decided the verdict; null if none did. */
  readonly event: SeenEvent | null
}

export interface SenderRequirement {
  readonly id: string
  readonly strength: "MUST" | "SHOULD"
  readonly statement: string
  readonly because: string
  readonly check: (observation: Observation, terms: SenderTerms) => SenderFinding
}

const fail = (observed: string, event: SeenEvent | null = null): SenderFinding => ({
  verdict: "FAIL",
  observed,
  event
})

/** Why an attempt can't be judged. */
interface Undecided {
  readonly undecided: string
}

/**
 * Judges attempts one by one. `judge` returns `good`, a description of the failure, why it is undecided, or null if
 * there is nothing to judge.
 */
const eachAttempt = (
  nothing: string,
  judge: (
    attempt: SeenAttempt,
    event: SeenEvent,
    index: number,
    known: Observation & SenderTerms
  ) => string | Undecided | null
): SenderRequirement["check"] => {
  return (observation, terms) => {
    let good = 0
    let open: SenderFinding | null = null
    for (const event of observation.events) {
      for (const [index, attempt] of event.attempts.entries()) {
        const judged = judge(attempt, event, index, { ...observation, ...terms })
        const where = `event ${event.number}, attempt ${index + 1}`
        if (judged === "good") good++
        else if (typeof judged === "string") return fail(`${where}: ${judged}`, event)
        else if (judged !== null) open ??= { verdict: "INCONCLUSIVE", observed: `${where}: ${judged.undecided}`, event }
      }
    }
    if (open !== null) return open
    return good === 0
      ? { verdict: "INCONCLUSIVE", observed: nothing, event: null }
      : { verdict: "PASS", observed: `${good} attempts`, event: null }
  }
}

/**
 * Judges an attempt that no other attempt followed. It is a failure only if a retry would have been seen. The delay
 * before the same retry of other events shows how long that takes: a sender may wait much longer before its second
 * retry than before its first. A sender that has retried nothing fails after the quiet time.
 */
const unretried = ({ at }: SeenAttempt, index: number, { events, quiet, until }: Observation & SenderTerms) => {
  const delays = events.flatMap(({ attempts }) => {
    const [one, next] = attempts.slice(index)
    return one === undefined || next === undefined ? [] : [next.at - one.at]
  })
  const waited = until - at
  const observed = `no other attempt followed within ${Math.round(waited / 1_000)} s`
  const isKnown = index === 0 || delays.length > 0
  return isKnown && waited >= 2 * Math.max(0, ...delays) + quiet
    ? observed
    : { undecided: `${observed}; then the time was up (--max-time)` }
}

/** Requires that another attempt follows each treatment that `isMeant` selects. */
const retried = (isMeant: (treatment: Treatment) => boolean, nothing: string) =>
  eachAttempt(nothing, (attempt, { attempts }, index, known) => {
    if (attempt.treatment === null || !isMeant(attempt.treatment)) return null
    return index + 1 < attempts.length ? "good" : unretried(attempt, index, known)
  })

const isStatus = (treatment: Treatment): treatment is Extract<Treatment, { k: "status" }> => treatment.k === "status"

const secondsOf = ({ headers }: SeenAttempt): number | null => {
  const text = headers["webhook-timestamp"] ?? ""
  return /^\d{1,12}$/.test(text) ? Number(text) : null
}

/** Returns what is wrong with a body; null if nothing is. */
const shapeProblem = (body: string): string | null => {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return "the body is not JSON"
  }
  const event = Predicate.hasProperty(value, "event") ? value.event : undefined
  if (!Predicate.isObject(event)) return "the body has no object `event`"
  if (!Predicate.hasProperty(event, "resource_type") || typeof event.resource_type !== "string") {
    return "the event has no text `resource_type`"
  }
  if (!Predicate.hasProperty(event, "action") || typeof event.action !== "string")
    return "the event has no text `action`"
  if (!Predicate.hasProperty(event, "data") || !Predicate.isObject(event.data)) return "the event has no object `data`"
  return null
}

/** Maximum drift between two clocks since the first attempt, in seconds. */
const clockDrift = 2

export const senderRequirements: ReadonlyArray<SenderRequirement> = [
  {
    id: "S-BODY-01",
    strength: "MUST",
    statement: 'An event is sent as a POST of application/json with the body {"event":{resource_type, action, data}}.',
    because: "Receivers accept nothing else.",
    check: eachAttempt("no event arrived", ({ body, headers, method }) => {
      if (method !== "POST") return `the method is ${method}`
      const type = headers["content-type"] ?? "missing"
      if (!/^application\/json\s*(;|$)/i.test(type)) return `the content type is ${type}`
      return shapeProblem(body) ?? "good"
    })
  },
  {
    id: "S-ID-01",
    strength: "MUST",
    statement: "Every attempt has a webhook-id, and all attempts of an event have the same one.",
    because: "Receivers drop duplicates by it: with a new id, each retry takes effect again.",
    check: eachAttempt("no event was sent twice", (attempt, { attempts }, index) => {
      const id = webhookIdOf(attempt)
      if (id === "") return "there is no webhook-id"
      if (index === 0) return null
      const first = attempts[0] === undefined ? "" : webhookIdOf(attempts[0])
      return id === first ? "good" : `the webhook-id is ${id}; it was ${first}`
    })
  },
  {
    id: "S-ID-02",
    strength: "MUST",
    statement: "Every attempt with one webhook-id has the same body, byte for byte.",
    because: "Two events with one id are one event to a receiver: the second is lost.",
    check: eachAttempt("no event was sent twice", ({ body }, { attempts }, index) => {
      if (index === 0) return null
      return body === attempts[0]?.body ? "good" : "the body differs from that of the first attempt"
    })
  },
  {
    id: "S-ATT-01",
    strength: "SHOULD",
    statement: "doorhook-attempt counts the attempts from 1.",
    because: "Receivers log it, which helps to explain a late event.",
    check: eachAttempt("the header doorhook-attempt was never sent", ({ headers }, _, index) => {
      const given = headers["doorhook-attempt"]
      if (given === undefined) return null
      return given === String(index + 1) ? "good" : `doorhook-attempt is ${given}`
    })
  },
  {
    id: "S-TIME-01",
    strength: "MUST",
    statement: "webhook-timestamp is when the attempt was made, not when the event happened or was first sent.",
    because: "Receivers refuse requests signed more than five minutes ago, so every later retry would be refused.",
    check: eachAttempt("no attempt had a webhook-timestamp", (attempt, { attempts }, index) => {
      const seconds = secondsOf(attempt)
      if (seconds === null) {
        return attempt.headers["webhook-signature"] === undefined ? null : "there is no usable webhook-timestamp"
      }
      const off = attempt.wallClock / 1_000 - seconds
      if (Math.abs(off) > 300) return `webhook-timestamp differs by ${Math.round(off)} s from this machine's clock`
      const first = attempts[0]
      const firstSeconds = first === undefined ? null : secondsOf(first)
      if (index === 0 || first === undefined || firstSeconds === null) return "good"
      const drift = Math.abs((attempt.wallClock - first.wallClock) / 1_000 - (seconds - firstSeconds))
      return drift <= clockDrift
        ? "good"
        : `webhook-timestamp differs by ${Math.round(drift)} s from the time that passed since the first attempt`
    })
  },
  {
    id: "S-RETRY-01",
    strength: "MUST",
    statement: "An attempt that is answered with 4xx or 5xx is retried.",
    because: "A receiver would lose every event that is sent during a deployment.",
    check: retried((one) => isStatus(one) && one.status >= 400, "no event was answered with an error")
  },
  {
    id: "S-RETRY-02",
    strength: "MUST",
    statement: "Only 200 acknowledges: an attempt that is answered with another 2xx is retried.",
    because: "The interface defines only 200 OK as an acknowledgement.",
    check: retried(
      (one) => isStatus(one) && one.status > 200 && one.status < 300,
      "no event was answered with another 2xx"
    )
  },
  {
    id: "S-RETRY-03",
    strength: "MUST",
    statement: "An attempt whose connection breaks before the answer is retried.",
    because: "When a receiver crashes, its connections break.",
    check: retried((one) => one.k === "reset", "no connection was broken")
  },
  {
    id: "S-REDIR-01",
    strength: "MUST",
    statement: "Redirects are not followed; they are failed attempts.",
    because: "A redirect may lead into the sender's own network, and turns the POST into a GET.",
    check: (observation, terms) => {
      const [stray] = observation.strays
      if (stray !== undefined) return fail(`it followed a redirect with a ${stray.method}`)
      return retried((one) => one.k === "redirect", "no event was redirected")(observation, terms)
    }
  },
  {
    id: "S-LATE-01",
    strength: "MUST",
    statement: "An answer after the deadline does not acknowledge: the attempt is given up and retried.",
    because: "Without a deadline, one receiver that hangs delays the events of all others.",
    check: eachAttempt("no answer was late", (attempt, { attempts }, index, known) => {
      const { gaveUpAfter, treatment } = attempt
      const { deadline, guard } = known
      if (treatment?.k !== "after" || acknowledges(treatment)) return null
      if (index + 1 === attempts.length) return unretried(attempt, index, known)
      const late = treatment.share * deadline
      if (gaveUpAfter === null) return `it waited ${Math.round(late)} ms for the answer`
      return gaveUpAfter >= deadline - guard ? "good" : `it gave up after ${Math.round(gaveUpAfter)} ms`
    })
  },
  {
    id: "S-LATE-02",
    strength: "MUST",
    statement: "An answer shortly before the deadline acknowledges.",
    because: "A receiver may use all of the time until the deadline.",
    check: eachAttempt("no answer was slow", ({ gaveUpAfter, treatment }, _, __, { deadline }) => {
      if (treatment?.k !== "after" || !acknowledges(treatment)) return null
      const slow = Math.round(treatment.share * deadline)
      return gaveUpAfter === null
        ? "good"
        : `it gave up after ${Math.round(gaveUpAfter)} ms; the answer was due after ${slow} ms`
    })
  },
  {
    id: "S-DONE-01",
    strength: "MUST",
    statement: "After an acknowledgement no further attempt is made.",
    because: "Only a lost answer justifies a duplicate.",
    check: eachAttempt("no event was acknowledged", ({ treatment }, { attempts }, index) => {
      if (treatment === null || !acknowledges(treatment)) return null
      return index + 1 === attempts.length
        ? "good"
        : `${attempts.length - index - 1} more attempts followed an acknowledgement`
    })
  },
  {
    id: "S-SIG-01",
    strength: "MUST",
    statement: "Every attempt is signed by Standard Webhooks 1.0 over the bytes that are sent.",
    because: "Receivers that check signatures refuse anything else.",
    check: (observation, terms) =>
      terms.signatures === null
        ? { verdict: "NOT_OBSERVABLE", observed: "--secret was not given", event: null }
        : eachAttempt("no event arrived", (attempt) => terms.signatures?.get(attempt)?.replaceAll("_", " ") ?? "good")(
            observation,
            terms
          )
  }
]
