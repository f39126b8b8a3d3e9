/**
 * Deliveries, the newest first: by state, by integration, by event.
 */
import { call, withQuery } from "./api.js"
import { h, show } from "./dom.js"
import { addressOf, field, pages, select, table } from "./lists.js"
import { ago, badge, counted, outcome, states } from "./words.js"

const perPage = 50

/**
 * What a delivery waits for, or why it ended without an acknowledgement.
 * @param {import("./api.js").Delivery} one
 */
const whatNext = ({ next_attempt_at, reason, state }) => {
  if (state !== "retrying" || next_attempt_at === null) return (reason ?? "").replaceAll("_", " ")
  return Date.parse(next_attempt_at) <= Date.now() ? "due now" : ago(next_attempt_at)
}

/**
 * Deliveries as rows.
 * @param {import("./api.js").Delivery[]} list
 * @param {string} none
 */
export const deliveryTable = (list, none) =>
  table(
    "Deliveries",
    ["Delivery", "State", "Integration", "Last attempt", "Next", "Created", "Event"],
    list.map((one) => [
      h("a", { class: "whole", href: addressOf(`deliveries/${one.id}`) }, one.id),
      badge(one.state),
      h(
        "a",
        { href: addressOf(`integrations/${one.integration_id}`), "data-key": `whose ${one.id}` },
        one.integration_id
      ),
      one.last_attempt === null
        ? ""
        : [
            outcome(one.last_attempt),
            one.last_attempt.number > 1 ? ` ${counted(one.last_attempt.number, "attempt")}` : null
          ],
      whatNext(one),
      ago(one.created_at),
      h(
        "a",
        { class: "mono", href: addressOf("deliveries", { event_id: one.event_id }), "data-key": `event ${one.id}` },
        one.event_id
      )
    ]),
    none
  )

/**
 * Where a search leads: to one delivery, to an event's, or to an integration's.
 * @param {string} text
 * @param {string} state
 */
const target = (text, state) => {
  const given = text.trim()
  if (given === "") return addressOf("deliveries", { state })
  if (/^dlv_\d+$/.test(given)) return addressOf(`deliveries/${given}`)
  if (/^evt_\w+$/.test(given)) return addressOf("deliveries", { state, event_id: given })
  if (/^\d+$/.test(given)) return addressOf("deliveries", { state, integration_id: given })
  return null
}

/** @param {import("./main.js").View} view */
export const deliveries = async ({ keep, place, query, signal }) => {
  const given = {
    state: query.get("state") ?? "",
    integration_id: query.get("integration_id") ?? "",
    event_id: query.get("event_id") ?? "",
    after: query.get("after") ?? ""
  }
  const search = h("input", {
    type: "search",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    value: given.event_id || given.integration_id,
    "aria-describedby": "search-says"
  })
  const state = select(
    [
      ["", "every state"],
      ["retrying,exhausted,expired", "not acknowledged"],
      ...states.map((name) => /** @type {[string, string]} */ ([name, name]))
    ],
    given.state
  )
  const says = h("p", { class: "muted", id: "search-says", role: "status" }, "")
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const address = target(search.value, state.value)
    if (address === null)
      says.textContent = "Give the id of an event (evt_...), of a delivery (dlv_...), or of an integration (a number)."
    else location.hash = address
  }
  const list = h("div", {})
  show(
    place,
    h(
      "form",
      { class: "filters", role: "search", submit },
      field("Event, delivery or integration", "search", search, "wide"),
      field("State", "state", state),
      h("button", { type: "submit" }, "Search")
    ),
    says,
    h("section", { class: "panel", "aria-label": "Found deliveries" }, list)
  )
  await keep(5_000, async () => {
    const found = await call("GET", withQuery("deliveries", { ...given, order: "newest", limit: perPage }), { signal })
    show(
      list,
      deliveryTable(found.deliveries, "No delivery is like that."),
      pages("deliveries", given, found.next, { first: "Newest", more: "Older ones" })
    )
  })
}
