/**
 * Tables that become lists of cards on a phone, and how they go on.
 */
import { h } from "./dom.js"

/**
 * @param {string} label What the table holds, for who does not see it.
 * @param {string[]} columns
 * @param {import("./dom.js").Child[][]} rows
 * @param {string} none What to say when there is nothing.
 */
export const table = (label, columns, rows, none) =>
  rows.length === 0
    ? h("p", { class: "muted" }, none)
    : h(
        "table",
        { role: "table", "aria-label": label },
        h(
          "thead",
          {},
          h("tr", { role: "row" }, ...columns.map((name) => h("th", { scope: "col", role: "columnheader" }, name)))
        ),
        h(
          "tbody",
          { role: "rowgroup" },
          ...rows.map((cells) =>
            h(
              "tr",
              { role: "row" },
              ...cells.map((cell, index) =>
                h("td", { role: "cell", "data-label": index > 1 ? (columns[index] ?? "") : null }, cell)
              )
            )
          )
        )
      )

/**
 * The address of a view with what it shows.
 * @param {string} view
 * @param {Record<string, string | null | undefined>} query
 */
export const addressOf = (view, query = {}) => {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return given.length === 0 ? `#/${view}` : `#/${view}?${new URLSearchParams(given)}`
}

/**
 * Links to the first page and the next one.
 * @param {string} view
 * @param {Record<string, string | null | undefined>} query
 * @param {string | null} next
 * @param {{ first: string, more: string }} words
 */
export const pages = (view, query, next, words) =>
  h(
    "nav",
    { class: "row", "aria-label": "Pages" },
    query["after"] ? h("a", { class: "button", href: addressOf(view, { ...query, after: null }) }, words.first) : null,
    next === null ? null : h("a", { class: "button", href: addressOf(view, { ...query, after: next }) }, words.more)
  )

/**
 * A field with its label.
 * @param {string} label
 * @param {string} id
 * @param {HTMLElement} control
 * @param {string} [kind]
 */
export const field = (label, id, control, kind = "") => {
  control.id = id
  return h("div", { class: kind }, h("label", { for: id }, label), control)
}

/**
 * @param {[string, string][]} options Values with what they are called.
 * @param {string} chosen
 */
export const select = (options, chosen) =>
  h("select", {}, ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)))
