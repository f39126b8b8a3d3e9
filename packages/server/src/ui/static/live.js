/**
 * The pages' script. It refreshes the page, selects all rows, copies texts, and reports the visitor's time zone.
 * The pages work without the script. The script never turns text into HTML: the browser parses the server's page, and
 * the script copies its nodes.
 */
const main = document.querySelector("main")

/** Path of the pages: that of this script, without its name. */
const script =
  document.currentScript instanceof HTMLScriptElement
    ? document.currentScript.src.replace(/^\w+:\/\/[^/]*|\/[^/]*$/g, "")
    : "/"

/** Attributes that a refresh does not change, because they show what the visitor has opened or ticked. */
const kept = new Set(["open", "checked"])

/**
 * Changes a node in place until it equals another node. Touches only the differences, so focus, selection and open
 * parts are kept.
 * @param {Node} old
 * @param {Node} now
 */
const become = (old, now) => {
  if (old instanceof Element && now instanceof Element) {
    for (const name of old.getAttributeNames())
      if (!now.hasAttribute(name) && !kept.has(name)) old.removeAttribute(name)
    for (const { name, value } of now.attributes) {
      if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value)
    }
  } else if (old.nodeValue !== now.nodeValue) old.nodeValue = now.nodeValue
  const before = [...old.childNodes]
  let place = 0
  for (const next of now.childNodes) {
    const key = keyOf(next)
    const found =
      key === ""
        ? isAlike(before[place], next)
          ? place
          : -1
        : before.findIndex((one, from) => from >= place && isAlike(one, next))
    const mine = before[found]
    if (mine === undefined) {
      old.insertBefore(document.importNode(next, true), before[place] ?? null)
      continue
    }
    for (const gone of before.slice(place, found)) old.removeChild(gone)
    if (!mine.isEqualNode(next)) become(mine, next)
    place = found + 1
  }
  for (const gone of before.slice(place)) old.removeChild(gone)
}

/**
 * Whether `become` can change one node into the other.
 * @param {Node | undefined} old
 * @param {Node} now
 */
const isAlike = (old, now) => old !== undefined && old.nodeName === now.nodeName && keyOf(old) === keyOf(now)

/**
 * Identifies what an element shows. Rows of different deliveries have different keys, so a ticked box does not move to
 * another delivery.
 * @param {Node} node
 */
const keyOf = (node) => {
  if (!(node instanceof Element)) return ""
  const box = node.matches("tr") ? node.querySelector("input[name=delivery]") : null
  return node.id || node.getAttribute("aria-labelledby") || (box instanceof HTMLInputElement ? box.value : "")
}

/** Reveals the controls that need this script. */
const reveal = () => {
  for (const hidden of document.querySelectorAll("[data-select-all], [data-copy]")) hidden.removeAttribute("hidden")
}

/**
 * Sets a cookie with the visitor's time zone, in which the server writes all times. Loads a page again that was written
 * before the cookie was set.
 */
const setZone = () => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const cookie = `doorhook_zone=${encodeURIComponent(timeZone)}`
  if (main === null || document.cookie.split("; ").includes(cookie)) return
  document.cookie = `${cookie}; path=${script}; max-age=31536000; samesite=lax`
  const isSet = document.cookie.split("; ").includes(cookie)
  if (isSet && main.hasAttribute("data-refresh") && main.getAttribute("data-zone") !== timeZone) location.reload()
}

/** Whether a refresh would disturb the visitor, or the page is hidden. */
const isBusy = () =>
  document.visibilityState !== "visible" ||
  document.querySelector("[popover]:popover-open, .menu[open], input[name=delivery]:checked") !== null ||
  (document.activeElement?.matches("input:not([type=checkbox]), select, textarea") ?? false)

/**
 * Requests this page again and applies the differences. If the session has ended, reloads to show the login page: the
 * answer is then 403, or a login page of doorhook or the host, which does not refresh itself.
 */
const refresh = () => {
  if (main === null || isBusy()) return plan()
  const request = new XMLHttpRequest()
  request.responseType = "document"
  request.open("GET", location.href)
  request.timeout = 30_000
  request.onloadend = () => {
    const next = request.responseXML?.querySelector("main[data-refresh]")
    if (request.status === 403 || (request.status === 200 && !next)) return location.reload()
    document.getElementById("stale")?.toggleAttribute("hidden", request.status === 200)
    if (request.status === 200 && next && !isBusy()) {
      become(main, next)
      reveal()
    }
    plan()
  }
  request.send()
}

const plan = () => {
  const seconds = Number(main?.getAttribute("data-refresh") ?? 0)
  if (seconds > 0) setTimeout(refresh, seconds * 1_000)
}

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.hasAttribute("data-select-all")) return
  for (const box of document.querySelectorAll("input[name=delivery]")) {
    if (box instanceof HTMLInputElement) box.checked = target.checked
  }
})

/**
 * Copies the text of an element. If the browser refuses, as it does without https, selects the text instead.
 * @param {Element} button
 * @param {HTMLElement} source
 */
const copy = async (button, source) => {
  try {
    await navigator.clipboard.writeText(source instanceof HTMLInputElement ? source.value : (source.textContent ?? ""))
    button.textContent = button.getAttribute("data-copied")
  } catch {
    getSelection()?.selectAllChildren(source)
    if (source instanceof HTMLInputElement) source.select()
    button.textContent = button.getAttribute("data-failed")
  }
}

/**
 * Closes the open menu, except while the visitor uses it.
 * @param {EventTarget | null} target
 */
const closeMenus = (target) => {
  for (const menu of document.querySelectorAll(".menu[open]"))
    if (!(target instanceof Node && menu.contains(target))) menu.removeAttribute("open")
}

document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && document.querySelector("[popover]:popover-open") === null) closeMenus(null)
})

document.addEventListener("click", ({ target }) => {
  closeMenus(target)
  const button = target instanceof Element ? target.closest("[data-copy]") : null
  const source = document.getElementById(button?.getAttribute("data-copy") ?? "")
  if (button !== null && source !== null) void copy(button, source)
})

// Remove the result of a form from the address, so that a reload or refresh does not show it again.
if (document.querySelector("[data-done]") !== null) {
  const { hash, pathname, search } = location
  const query = new URLSearchParams(search)
  query.delete("done")
  query.delete("n")
  history.replaceState(null, "", `${pathname}${query.size === 0 ? "" : `?${query}`}${hash}`)
}

reveal()
setZone()
plan()
