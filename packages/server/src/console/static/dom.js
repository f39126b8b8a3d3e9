/**
 * Elements made of texts: whatever comes from a receiver or an integrator is put in as text and is never read as HTML.
 */

/** @typedef {Node | string | number | null | false | Child[]} Child */

const svgNames = new Set(["svg", "path", "title"])

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | ((event: any) => unknown)>} [attributes] A function listens to
 *   the event of that name.
 * @param {...Child} children
 * @returns {any}
 */
export const h = (tag, attributes = {}, ...children) => {
  const element = svgNames.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue
    if (typeof value === "function") element.addEventListener(name, value)
    else {
      // Addresses lead within the console only.
      if (name === "href" && !String(value).startsWith("#")) throw new Error(`${value} leads out of the console`)
      element.setAttribute(name, value === true ? "" : String(value))
    }
  }
  append(element, children)
  return element
}

/**
 * @param {Element} parent
 * @param {Child[]} children
 */
const append = (parent, children) => {
  for (const child of children) {
    if (child === null || child === false) continue
    if (Array.isArray(child)) append(parent, child)
    else parent.append(child instanceof Node ? child : String(child))
  }
}

/** What tells an element from its siblings, before and after a refresh. */
const nameOf = (/** @type {Element} */ element) =>
  element.id || element.getAttribute("data-key") || element.getAttribute("href") || ""

/**
 * Shows something in place of what was there. Who reads with a keyboard stays where they are, and what was opened stays
 * open.
 * @param {Element} place
 * @param {...Child} children
 */
export const show = (place, ...children) => {
  const focused = document.activeElement
  const kept = focused !== null && place.contains(focused) && focused !== place ? nameOf(focused) : ""
  const opened = new Set([...place.querySelectorAll("details[open]")].map(nameOf))
  place.replaceChildren()
  append(place, children)
  for (const details of place.querySelectorAll("details")) if (opened.has(nameOf(details))) details.open = true
  if (kept === "") return
  for (const element of place.querySelectorAll("a, button, input, select, summary, pre, h1")) {
    if (nameOf(element) === kept && element instanceof HTMLElement) return element.focus({ preventScroll: true })
  }
}
