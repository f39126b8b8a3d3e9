/**
 * The console: which view the address asks for, and when it is shown anew. Views are addresses behind `#`, which no server
 * gets to see.
 */
import { ApiError } from "./api.js"
import { deliveries } from "./deliveries.js"
import { delivery } from "./delivery.js"
import { h, show } from "./dom.js"
import { integration } from "./integration.js"
import { integrations } from "./integrations.js"
import { notices } from "./notices.js"
import { overview } from "./overview.js"
import { forget, key } from "./session.js"
import { signIn } from "./signIn.js"
import { tick } from "./words.js"

/**
 * @typedef {object} View What a view is given.
 * @property {HTMLElement} place
 * @property {string[]} path What the pattern of its address caught.
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal Aborted when another view is shown.
 * @property {(every: number, draw: () => Promise<void>) => Promise<void>} keep Draws now and, while somebody looks, again
 *   and again, so many milliseconds apart.
 * @property {() => void} again Draws at once.
 */

/** @type {[RegExp, string, (view: View) => Promise<void>][]} */
const views = [
  [/^\/?$/, "Overview", overview],
  [/^\/deliveries$/, "Deliveries", deliveries],
  [/^\/deliveries\/(dlv_\d+)$/, "Delivery $1", delivery],
  [/^\/integrations$/, "Integrations", integrations],
  [/^\/integrations\/(\d+)$/, "Integration $1", integration],
  [/^\/notices$/, "Notices", notices]
]

const main = /** @type {HTMLElement} */ (document.getElementById("main"))
const bar = /** @type {HTMLElement} */ (document.querySelector(".bar"))
let current = new AbortController()

const leave = (/** @type {string | null} */ why) => {
  current.abort()
  forget()
  bar.hidden = true
  document.title = "Sign in - doorhook console"
  signIn(main, why, open)
}

/** @param {unknown} error */
const failed = (error) => {
  if (error instanceof ApiError && error.status === 401) return leave("The operator key has changed. Sign in again.")
  const old = document.getElementById("trouble")
  const text = error instanceof Error ? error.message : String(error)
  const trouble = h("p", { class: "alert", role: "alert", id: "trouble" }, text)
  if (old === null) main.prepend(trouble)
  else if (old.textContent !== text) old.replaceWith(trouble)
}

/** Shows what the address asks for. */
const open = () => {
  if (key() === null) return leave(null)
  // A link within the page, like the one that skips the navigation.
  if (location.hash !== "" && !location.hash.startsWith("#/")) return
  current.abort()
  const here = (current = new AbortController())
  const { signal } = here
  bar.hidden = false
  const [path = "", query = ""] = location.hash.slice(1).split("?")
  const found = views
    .map(([pattern, name, view]) => ({ match: pattern.exec(path) ?? [], name, view }))
    .find(({ match }) => match.length > 0)
  for (const link of bar.querySelectorAll("nav a")) {
    const target = link.getAttribute("href")?.slice(1) ?? ""
    const inside = target === "/" ? /^\/?$/.test(path) : path.startsWith(target)
    if (inside) link.setAttribute("aria-current", "page")
    else link.removeAttribute("aria-current")
  }
  const title = found === undefined ? "Nothing here" : found.name.replace("$1", found.match[1] ?? "")
  document.title = `${title} - doorhook console`
  const heading = h("h1", { tabindex: "-1" }, title)
  const place = h("div", {})
  show(main, heading, place)
  window.scrollTo(0, 0)
  heading.focus({ preventScroll: true })
  if (found === undefined) return show(place, h("p", {}, "No view has this address."))

  let timer = 0
  let drawing = async () => {}
  let pause = 0
  const loop = async () => {
    clearTimeout(timer)
    try {
      // What a question is about stays as it is until it is answered.
      if (!document.hidden && document.querySelector("dialog[open]") === null) await drawing()
      if (!signal.aborted) document.getElementById("trouble")?.remove()
    } catch (error) {
      if (!signal.aborted) failed(error)
    }
    place.removeAttribute("aria-busy")
    clearTimeout(timer)
    if (!signal.aborted) timer = setTimeout(loop, pause)
  }
  /** @type {View["keep"]} */
  const keep = (every, how) => {
    drawing = how
    pause = every
    place.setAttribute("aria-busy", "true")
    return loop()
  }
  const again = () => void loop()
  signal.addEventListener("abort", () => clearTimeout(timer))
  document.addEventListener("visibilitychange", again, { signal })
  const view = { place, path: found.match.slice(1), query: new URLSearchParams(query), signal, keep, again }
  found.view(view).catch(failed)
}

document.getElementById("sign-out")?.addEventListener("click", () => leave(null))
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault()
  main.querySelector("h1")?.focus()
})
window.addEventListener("hashchange", open)
setInterval(tick, 1_000)
open()
