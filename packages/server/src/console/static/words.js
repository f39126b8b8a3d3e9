/**
 * Times, numbers and states as people read them.
 */
import { h } from "./dom.js"

export const states = ["pending", "delivering", "retrying", "delivered", "exhausted", "expired", "cancelled", "skipped"]

/** What each state means, in few words. */
export const stateMeanings = /** @type {Record<string, string>} */ ({
  pending: "waits for its turn",
  delivering: "is being sent now",
  retrying: "waits for its next attempt",
  delivered: "was acknowledged",
  exhausted: "every attempt failed",
  expired: "came too late to be sent",
  cancelled: "was called off",
  skipped: "came while disabled"
})

/** @param {number} value */
export const number = (value) => value.toLocaleString("en")

/** @param {number} millis */
export const duration = (millis) => {
  if (millis < 1_000) return `${Math.round(millis)} ms`
  const seconds = millis / 1_000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3_600) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

/** @param {string} iso */
const relative = (iso) => {
  const millis = Date.parse(iso) - Date.now()
  if (Math.abs(millis) < 1_000) return "now"
  return millis > 0 ? `in ${duration(millis)}` : `${duration(-millis)} ago`
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })

/**
 * A time, as how long ago it was or as date and time.
 * @param {string} iso
 */
export const ago = (iso) =>
  h(
    "time",
    { datetime: iso, title: moment.format(new Date(iso)), class: "number", "data-relative": true },
    relative(iso)
  )

/** @param {string} iso */
export const at = (iso) => h("time", { datetime: iso, class: "number" }, moment.format(new Date(iso)))

const isoTimes = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/

/** @param {string} part */
const isTime = (part) => isoTimes.test(part) && !Number.isNaN(Date.parse(part))

/**
 * A sentence of the service with its times as this place reads them. What only looks like one, in words of a receiver's, stays.
 * @param {string} sentence
 */
export const said = (sentence) => sentence.split(isoTimes).map((part) => (isTime(part) ? at(part) : part))

/** Keeps what says how long ago something was true. */
export const tick = () => {
  for (const element of document.querySelectorAll("time[data-relative]")) {
    const text = relative(element.getAttribute("datetime") ?? "")
    if (element.textContent !== text) element.textContent = text
  }
}

/**
 * @param {string} state
 * @param {string} [text]
 */
export const badge = (state, text = state) => h("span", { class: `state ${state}` }, text.replaceAll("_", " "))

/**
 * How an attempt ended.
 * @param {import("./api.js").AttemptEnd} attempt
 */
export const outcome = ({ outcome: kind, status }) =>
  badge(kind === "acknowledged" ? kind : "failed", status === null ? kind : `${kind} ${status}`)

/** @param {{ status: string, disabled_reason: string | null, failing: object | null }} integration */
export const health = ({ disabled_reason, failing, status }) => {
  if (status === "disabled") {
    const why = { gone: "receiver gone", failing: "failed too long", manual: "by hand" }[disabled_reason ?? "manual"]
    return badge("disabled", `disabled: ${why}`)
  }
  return failing === null ? badge("enabled") : badge("failing")
}

/** @param {{ scope: { type: string, id: number } | null }} of */
export const whose = ({ scope }) => h("span", { class: "whole" }, scope === null ? "" : `${scope.type} ${scope.id}`)

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`

/** @param {import("./api.js").Notice} notice */
export const noticeWords = ({ deliveries = 0, disables_at, failing_since, kind, reason }) => {
  switch (kind) {
    case "failing":
      return [
        "acknowledges nothing since ",
        at(failing_since ?? ""),
        "; unless it does, a failed attempt disables it: at ",
        at(disables_at ?? ""),
        " at the earliest, and not before the tenth"
      ]
    case "disabled":
      return [
        reason === "gone"
          ? "was disabled: its receiver answered 410 Gone"
          : "was disabled: it acknowledged nothing for too long"
      ]
    case "recovered":
      return ["acknowledges again"]
    case "retention_paused":
      return ["the clock jumped ahead: nothing is deleted for its age for 24 hours"]
    case "exhausted":
      return [`had ${counted(deliveries, "delivery", "deliveries")} given up: the retry schedule is used up`]
    default:
      return [kind]
  }
}
