/**
 * What doorhook noticed, the newest first.
 */
import { call, withQuery } from "./api.js"
import { h, show } from "./dom.js"
import { addressOf, pages, table } from "./lists.js"
import { ago, badge, noticeWords, whose } from "./words.js"

const perPage = 50

/** How a kind of notice is coloured. */
const colours = /** @type {Record<string, string>} */ ({
  recovered: "enabled",
  failing: "failing",
  disabled: "disabled",
  exhausted: "exhausted",
  retention_paused: "failing"
})

/** @param {import("./main.js").View} view */
export const notices = async ({ keep, place, query, signal }) => {
  const given = { after: query.get("after") ?? "" }
  await keep(10_000, async () => {
    const found = await call("GET", withQuery("notices", { ...given, order: "newest", limit: perPage }), { signal })
    show(
      place,
      h(
        "section",
        { class: "panel", "aria-label": "Found notices" },
        table(
          "Notices",
          ["Integration", "Kind", "When", "What", "Whose"],
          found.notices.map((/** @type {import("./api.js").Notice} */ one) => [
            one.integration_id === null
              ? h("span", {}, "The service")
              : h(
                  "a",
                  { href: addressOf(`integrations/${one.integration_id}`), "data-key": `notice ${one.id}` },
                  `Integration ${one.integration_id}`
                ),
            badge(colours[one.kind] ?? "", one.kind),
            ago(one.at),
            h("span", {}, noticeWords(one)),
            whose(one)
          ]),
          "Nothing was noticed: no integration failed."
        ),
        pages("notices", given, found.next, { first: "Newest", more: "Older ones" })
      )
    )
  })
}
