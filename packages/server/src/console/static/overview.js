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

/** @param {import("./api.js").Integration[]} all */
const attention = (all) => {
  const troubled = all.filter(
    ({ disabled_reason, failing }) => failing !== null || (disabled_reason ?? "manual") !== "manual"
  )
  return h(
    "section",
    { class: "panel", "aria-labelledby": "attention" },
    h("h2", { id: "attention" }, "Integrations that need attention"),
    troubled.length === 0
      ? h("p", { class: "muted" }, "None: all of them acknowledge.")
      : h(
          "ul",
          { class: "plain" },
          ...troubled
            .slice(0, 8)
            .map((one) =>
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
          troubled.length > 8
            ? h("li", {}, h("a", { href: "#/integrations" }, `and ${number(troubled.length - 8)} more`))
            : null
        )
  )
}

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
              h(
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
  /** @type {{ integrations: import("./api.js").Integration[], notices: import("./api.js").Notice[] }} */
  let slow = { integrations: [], notices: [] }
  let round = 0
  await keep(2_000, async () => {
    const figures = await call("GET", "figures", { signal })
    minute.add(figures)
    if (figures.database !== null && round++ % 5 === 0) {
      const [{ integrations }, { notices }] = await Promise.all([
        call("GET", withQuery("integrations", { limit: 1_000 }), { signal }),
        call("GET", withQuery("notices", { order: "newest", limit: 6 }), { signal })
      ])
      slow = { integrations, notices }
    }
    const well = figures.status === "ready"
    show(
      place,
      h(
        "p",
        { class: well ? "notice good" : "alert", role: well ? null : "alert" },
        well ? "Ready: events are accepted and deliveries flow." : figures.detail
      ),
      tiles(figures, minute),
      figures.database === null ? null : byState(figures.database),
      h("div", { class: "halves" }, attention(slow.integrations), h("div", {}, failures(), lately(slow.notices)))
    )
  })
}
