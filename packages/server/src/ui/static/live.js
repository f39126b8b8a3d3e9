/**
 * What a page can do with JavaScript beside what it does without: refresh itself, select all, copy, and show times as this place
 * has them. No text becomes HTML here: the browser parses the page that the server sends, and nodes are taken over from it.
 */
const main = document.querySelector("main")

/** Attributes that belong to the visitor: what they have opened or chosen stays. */
const kept = new Set(["open", "checked"])

/**
 * Makes a node like another one, touching only what differs: focus, selection and what is open stay where they are.
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
 * Whether a node can become another one.
 * @param {Node | undefined} old
 * @param {Node} now
 */
const isAlike = (old, now) => old !== undefined && old.nodeName === now.nodeName && keyOf(old) === keyOf(now)

/**
 * Identifies what an element shows. A row of another delivery is another element, so a ticked box does not stay beside the row that replaces it.
 * @param {Node} node
 */
const keyOf = (node) => {
  if (!(node instanceof Element)) return ""
  const box = node.matches("tr") ? node.querySelector("input[name=delivery]") : null
  return node.id || node.getAttribute("aria-labelledby") || (box instanceof HTMLInputElement ? box.value : "")
}

const times = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" })

/** Times of the server are in UTC. */
const localize = () => {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const text = times.format(new Date(time.getAttribute("datetime") ?? ""))
    if (time.hasAttribute("title")) time.setAttribute("title", text)
    else if (time.textContent !== text) time.textContent = text
  }
  for (const hidden of document.querySelectorAll("[data-select-all], [data-copy]")) hidden.removeAttribute("hidden")
}

/** Whether the visitor is in the middle of something that a new page would spoil. */
const isBusy = () =>
  document.visibilityState !== "visible" ||
  document.querySelector("details.ask[open], input[name=delivery]:checked") !== null ||
  (document.activeElement?.matches("input:not([type=checkbox]), select, textarea") ?? false)

/** Asks for this page again and takes over what differs. Once the session has ended, the page to sign in takes its place. */
const refresh = () => {
  if (main === null || isBusy()) return plan()
  const request = new XMLHttpRequest()
  request.responseType = "document"
  request.open("GET", location.href)
  request.timeout = 30_000
  request.onloadend = () => {
    const next = request.responseXML?.querySelector("main")
    if (request.status === 403) return location.reload()
    document.getElementById("stale")?.toggleAttribute("hidden", request.status === 200)
    if (request.status === 200 && next && !isBusy()) {
      become(main, next)
      localize()
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
 * Copies what a button names. Browsers copy on pages of https only; elsewhere the text is selected, to be copied by hand.
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

document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("[data-copy]") : null
  const source = document.getElementById(button?.getAttribute("data-copy") ?? "")
  if (button !== null && source !== null) void copy(button, source)
})

// What was done is said once: a reload, and each refresh, asks for the page without it.
if (document.querySelector("[data-done]") !== null) {
  const { hash, pathname, search } = location
  const query = new URLSearchParams(search)
  query.delete("done")
  query.delete("n")
  history.replaceState(null, "", `${pathname}${query.size === 0 ? "" : `?${query}`}${hash}`)
}

localize()
plan()
