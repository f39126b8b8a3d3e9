/**
 * Integrations with their health: what is set, since when they fail, and how their latest deliveries went.
 */
import { call, withQuery } from "./api.js"
import { h, show } from "./dom.js"
import { addressOf, field, pages, select, table } from "./lists.js"
import { ago, health, outcome, whose } from "./words.js"

const perPage = 25

/** How many deliveries a strip shows. */
export const latest = 12

/**
 * The latest deliveries of an integration as a strip, the newest at the right.
 * @param {import("./api.js").Delivery[]} newest
 */
export const strip = (newest) => {
  if (newest.length === 0) return h("span", { class: "muted" }, "nothing was sent")
  const counts = Map.groupBy(newest, ({ state }) => state)
  const words = [...counts].map(([state, list]) => `${list.length} ${state}`).join(", ")
  return h(
    "span",
    { class: "strip", role: "img", "aria-label": `Latest deliveries: ${words}`, title: words },
    ...newest.toReversed().map(({ state }) => h("i", { class: state }))
  )
}

/**
 * The latest deliveries of an integration, the newest first.
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<import("./api.js").Delivery[]>}
 */
export const lately = async (id, signal) => {
  const query = { integration_id: id, order: "newest", limit: latest }
  return (await call("GET", withQuery("deliveries", query), { signal })).deliveries
}

/**
 * How the newest delivery that was tried went.
 * @param {import("./api.js").Delivery[]} newest
 */
export const lastOutcome = (newest) => {
  const last = newest.find(({ last_attempt }) => last_attempt !== null)?.last_attempt
  return last === null || last === undefined
    ? h("span", { class: "muted" }, "no attempt yet")
    : [outcome(last), " ", ago(last.started_at)]
}

/** @param {import("./main.js").View} view */
export const integrations = async ({ keep, place, query, signal }) => {
  const given = { status: query.get("status") ?? "", after: query.get("after") ?? "" }
  const number = h("input", { inputmode: "numeric", pattern: "[0-9]+", autocomplete: "off" })
  const status = select(
    [
      ["", "enabled and disabled"],
      ["enabled", "enabled"],
      ["disabled", "disabled"],
      ["troubled", "failing, or disabled by doorhook"]
    ],
    given.status
  )
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const wanted = number.value.trim()
    location.hash =
      wanted === "" ? addressOf("integrations", { status: status.value }) : addressOf(`integrations/${wanted}`)
  }
  const list = h("div", {})
  show(
    place,
    h(
      "form",
      { class: "filters", role: "search", submit },
      field("Integration", "number", number),
      field("Status", "status", status),
      h("button", { type: "submit" }, "Search")
    ),
    h("section", { class: "panel", "aria-label": "Found integrations" }, list)
  )
  /** @type {Map<string, import("./api.js").Delivery[]>} */
  const known = new Map()
  await keep(10_000, async () => {
    const found = await call("GET", withQuery("integrations", { ...given, limit: perPage }), { signal })
    const draw = () =>
      show(
        list,
        ...found.unreadable.map((/** @type {{ id: string, scope: { type: string, id: number }, why: string }} */ one) =>
          h(
            "p",
            { class: "alert" },
            `Integration ${one.id} of ${one.scope.type} ${one.scope.id} can't be read: ${one.why}`
          )
        ),
        table(
          "Integrations",
          ["Integration", "Health", "Whose", "Failing since", "Last attempt", "Latest", "Sends to"],
          found.integrations.map((/** @type {import("./api.js").Integration} */ one) => {
            const recent = known.get(one.id)
            return [
              h("a", { class: "whole", href: addressOf(`integrations/${one.id}`) }, `Integration ${one.id}`),
              health(one),
              whose(one),
              one.failing === null ? "" : ago(one.failing.since),
              recent === undefined ? "..." : lastOutcome(recent),
              recent === undefined ? "..." : strip(recent),
              h("span", { class: "mono" }, one.url)
            ]
          }),
          "No integration is like that."
        ),
        pages("integrations", given, found.next, { first: "First ones", more: "More" })
      )
    draw()
    await Promise.all(
      found.integrations.map(async (/** @type {{ id: string }} */ { id }) => known.set(id, await lately(id, signal)))
    )
    draw()
  })
}
