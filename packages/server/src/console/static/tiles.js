/**
 * The live figures.
 */
import { h } from "./dom.js"
import { counted, duration, number } from "./words.js"

/**
 * A line over the last minute.
 * @param {number[]} values
 * @param {string} label
 */
const spark = (values, label) => {
  if (values.length < 2) return null
  const top = Math.max(...values, 1e-9)
  const points = values.map(
    (value, index) => `${((index * 100) / (values.length - 1)).toFixed(2)} ${(29 - (27 * value) / top).toFixed(2)}`
  )
  return h(
    "svg",
    { viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img", "aria-label": label },
    h("path", { class: "area", d: `M0 30 L${points.join(" L")} L100 30 Z` }),
    h("path", { class: "spark", d: `M${points.join(" L")}` })
  )
}

/**
 * @param {string} name
 * @param {import("./dom.js").Child} figure
 * @param {import("./dom.js").Child} words
 * @param {import("./dom.js").Child} [line]
 */
const tile = (name, figure, words, line = null) =>
  h(
    "section",
    { class: "tile" },
    h("h2", {}, name),
    h("p", { class: "figure" }, figure),
    h("p", { class: "muted" }, words),
    line
  )

const rateText = (/** @type {number | null} */ rate) => (rate === null ? "..." : rate.toFixed(rate < 10 ? 1 : 0))
const latencyText = (/** @type {number | null} */ millis) => (millis === null ? "-" : duration(millis))

/**
 * @param {import("./api.js").Figures} figures
 * @param {import("./figures.js").LastMinute} minute
 */
export const tiles = ({ at, database, process }, minute) => {
  const events = minute.rate((one) => one.process.events_accepted)
  const attempts = minute.rate((one) => Object.values(one.process.attempts).reduce((sum, count) => sum + count, 0))
  const due = database?.oldest_due_at ?? null
  return h(
    "div",
    { class: "tiles" },
    tile(
      "Events a second",
      rateText(events.all),
      "accepted here, in the last minute",
      spark(events.steps, "Events a second over the last minute")
    ),
    tile(
      "Attempts a second",
      rateText(attempts.all),
      "made here, in the last minute",
      spark(attempts.steps, "Attempts a second over the last minute")
    ),
    tile("Acknowledged within", latencyText(minute.latency(0.99)), [
      "99 of 100; half within ",
      latencyText(minute.latency(0.5))
    ]),
    tile(
      "Oldest due",
      due === null ? "none" : duration(Date.parse(at) - Date.parse(due)),
      due === null ? "nothing waits" : "has waited for its turn"
    ),
    tile("Under way", number(process.delivering), [
      counted(process.buffered, "waits", "wait"),
      " in memory, ",
      `${number(process.unsettled)} to record`,
      process.catching_up.length === 0
        ? ""
        : `; ${counted(process.catching_up.length, "integration catches", "integrations catch")} up`
    ])
  )
}
