/**
 * One integration: what is set, how it fails, what its receiver got lately, and what an operator can do about it.
 */
import { call, withQuery } from "./api.js"
import { deliveryTable } from "./deliveries.js"
import { h, show } from "./dom.js"
import { actionsOn, recovery } from "./integrationActions.js"
import { lastOutcome, latest, strip } from "./integrations.js"
import { addressOf } from "./lists.js"
import { ago, at, health, noticeWords, whose } from "./words.js"

/**
 * @param {import("./api.js").Integration} one
 * @returns {import("./dom.js").Child}
 */
const troubleOf = ({ disabled_reason, failing, status }) => {
  if (status === "disabled") {
    return (
      {
        gone: "doorhook disabled it, because its receiver answered 410 Gone. Try it again, or enable it.",
        failing: "doorhook disabled it, because it acknowledged nothing for too long. Try it again, or enable it.",
        manual: "It was disabled by hand. New events are kept as skipped until it is enabled and recovered."
      }[disabled_reason ?? "manual"] ?? null
    )
  }
  return failing === null
    ? null
    : [
        "It first failed ",
        ago(failing.since),
        " and has acknowledged nothing since. Unless it does, it will be disabled, after ten failed attempts at the earliest."
      ]
}

/**
 * @param {import("./api.js").Integration} one
 * @param {import("./api.js").Delivery[]} recent
 */
const facts = (one, recent) =>
  h(
    "dl",
    { class: "facts" },
    h("dt", {}, "Whose"),
    h("dd", {}, whose(one)),
    h("dt", {}, "Sends to"),
    h("dd", { class: "mono" }, one.url),
    h("dt", {}, "Sends"),
    h("dd", {}, one.bindings.map(({ resource_type }) => resource_type.replaceAll("_", " ")).join(", ")),
    h("dt", {}, "Last attempt"),
    h("dd", {}, lastOutcome(recent)),
    h("dt", {}, "Latest"),
    h("dd", {}, strip(recent)),
    h("dt", {}, "Overrides"),
    h("dd", {}, Object.keys(one.overrides).length === 0 ? "none" : h("code", {}, JSON.stringify(one.overrides))),
    h("dt", {}, "Created"),
    h("dd", {}, at(one.created_at)),
    h("dt", {}, "Changed"),
    h("dd", {}, at(one.updated_at))
  )

/** @param {import("./main.js").View} view */
export const integration = async ({ again, keep, path: [id = ""], place, signal }) => {
  const self = `integrations/${id}`
  const top = h("div", {})
  const bottom = h("div", {})
  const { disable, enable, link, probe, test } = actionsOn(id, again)

  show(
    place,
    top,
    h(
      "section",
      { class: "panel", "aria-labelledby": "recover" },
      h("h2", { id: "recover" }, "Recover what it has missed"),
      recovery(id, again)
    ),
    bottom
  )
  await keep(5_000, async () => {
    const [one, { notices }, { deliveries }] = await Promise.all([
      call("GET", self, { signal }),
      call("GET", withQuery("notices", { integration_id: id, order: "newest", limit: 5 }), { signal }),
      call("GET", withQuery("deliveries", { integration_id: id, order: "newest", limit: 20 }), { signal })
    ])
    const trouble = troubleOf(one)
    const byDoorhook = one.status === "disabled" && one.disabled_reason !== "manual"
    show(
      top,
      h(
        "section",
        { class: "panel", "aria-labelledby": "about" },
        h("div", { class: "row apart" }, h("h2", { id: "about" }, "Health"), health(one)),
        trouble === null ? null : h("p", { class: "alert" }, trouble),
        one.catching_up === null
          ? null
          : h(
              "p",
              { class: "notice" },
              "It acknowledges again. Its waiting retries are sent early, since ",
              ago(one.catching_up.since),
              "."
            ),
        facts(one, deliveries.slice(0, latest)),
        h(
          "p",
          { class: "row" },
          one.status === "enabled" ? [test(), link(), disable()] : [enable(), byDoorhook ? probe() : null, link()]
        )
      )
    )
    show(
      bottom,
      h(
        "section",
        { class: "panel", "aria-labelledby": "its-notices" },
        h("h2", { id: "its-notices" }, "Notices"),
        notices.length === 0
          ? h("p", { class: "muted" }, "None.")
          : h(
              "ul",
              { class: "plain" },
              ...notices.map((/** @type {import("./api.js").Notice} */ notice) =>
                h("li", {}, ago(notice.at), " it ", noticeWords(notice))
              )
            )
      ),
      h(
        "section",
        { class: "panel", "aria-labelledby": "its-deliveries" },
        h(
          "div",
          { class: "row apart" },
          h("h2", { id: "its-deliveries" }, "Latest deliveries"),
          h("a", { href: addressOf("deliveries", { integration_id: id }) }, "All of them")
        ),
        deliveryTable(deliveries, "None yet.")
      )
    )
  })
}
