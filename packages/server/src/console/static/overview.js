/**
 * Whether all is well at a glance: live figures, deliveries by state, and who needs attention.
 */
import { call, withQuery } from "./api.js"
import { h, show } from "./dom.js"
import { LastMinute } from "./figures.js"
import { addressOf } from "./lists.js"
import { tiles } from "./tiles.js"
import { ago, badge, counted, health, noticeWords, number, stateMeanings, states, whose } from "./words.js"

/** Kept while the console is open, so that the last minute is there when one comes back. */
const minute = new LastMinute()

/** @param {NonNullable<import("./api.js").Figures["database"]>} database */
const byState = ({ deliveries, events }) =>
  h(
    "section",
    { class: "panel", "aria-labelledby": "by-state" },
    h("h2", { id: "by-state" }, `Deliveries of ${counted(events, "event")}`),
    h(
      "ul",
      { class: "states" },
      ...states.map((state) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: addressOf("deliveries", { state }) },
            badge(state),
            h("b", {}, number(deliveries[state] ?? 0)),
            h("span", { class: "muted" }, stateMeanings[state] ?? "")
          )
        )
      )
    )
  )

const failures = () =>
  h(
    "section",
    { class: "panel", "aria-labelledby": "failures" },
    h("h2", { id: "failures" }, "Attempts that failed in the last minute"),
    minute.failures.length === 0
      ? h("p", { class: "muted" }, "None.")
      : h(
          "ul",
          { class: "plain" },
          ...minute.failures.map(({ count, outcome }) =>
            h("li", { class: "row apart" }, badge("failed", outcome), h("b", { class: "number" }, number(count)))
          )
        )
  )

/** @param {{ integrations: import("./api.js").Integration[], next: string | null }} troubled */
const attention = ({ integrations, next }) =>
  h(
    "section",
    { class: "panel", "aria-labelledby": "attention" },
    h("h2", { id: "attention" }, "Integrations that need attention"),
    integrations.length === 0
      ? h("p", { class: "muted" }, "None: all of them acknowledge.")
      : h(
          "ul",
          { class: "plain" },
          ...integrations.map((one) =>
            h(
              "li",
              {},
              h(
                "div",
                { class: "row" },
                h("a", { href: addressOf(`integrations/${one.id}`) }, `Integration ${one.id}`),
                health(one),
                h("span", { class: "muted" }, whose(one))
              ),
              one.failing === null
                ? null
                : h(
                    "p",
                    { class: "muted" },
                    "first failed ",
                    ago(one.failing.since),
                    ", and nothing was acknowledged since"
                  )
            )
          ),
          next === null
            ? null
            : h("li", {}, h("a", { href: addressOf("integrations", { status: "troubled" }) }, "and more"))
        )
  )

/** @param {import("./api.js").Notice[]} latest */
const lately = (latest) =>
  h(
    "section",
    { class: "panel", "aria-labelledby": "lately" },
    h("h2", { id: "lately" }, "Latest notices"),
    latest.length === 0
      ? h("p", { class: "muted" }, "None.")
      : h(
          "ul",
          { class: "plain" },
          ...latest.map((notice) =>
            h(
              "li",
              {},
              ago(notice.at),
              " ",
              notice.integration_id === null
                ? ""
                : h(
                    "a",
                    { href: addressOf(`integrations/${notice.integration_id}`), "data-key": `notice ${notice.id}` },
                    `integration ${notice.integration_id}`
                  ),
              " ",
              noticeWords(notice)
            )
          )
        )
  )

/** @param {import("./main.js").View} view */
export const overview = async ({ keep, place, signal }) => {
  /** @type {{ troubled: Parameters<typeof attention>[0], notices: import("./api.js").Notice[] }} */
  let slow = { troubled: { integrations: [], next: null }, notices: [] }
  let round = 0
  const standing = h("div", {})
  const rest = h("div", {})
  await keep(2_000, async () => {
    const figures = await call("GET", "figures", { signal })
    minute.add(figures)
    if (figures.database !== null && round++ % 5 === 0) {
      const [troubled, { notices }] = await Promise.all([
        call("GET", withQuery("integrations", { status: "troubled", limit: 8 }), { signal }),
        call("GET", withQuery("notices", { order: "newest", limit: 6 }), { signal })
      ])
      slow = { troubled, notices }
    }
    const trouble = figures.detail ?? figures.process.deliveries_wait?.detail ?? null
    const words = trouble ?? "Ready: events are accepted and deliveries flow."
    // An alert that is put there anew is read out anew.
    if (standing.textContent !== words) {
      const well = trouble === null
      show(standing, h("p", { class: well ? "notice good" : "alert", role: well ? null : "alert" }, words))
    }
    if (!rest.isConnected) show(place, standing, rest)
    show(
      rest,
      tiles(figures, minute),
      figures.database === null ? null : byState(figures.database),
      h("div", { class: "halves" }, attention(slow.troubled), h("div", {}, failures(), lately(slow.notices)))
    )
  })
}
