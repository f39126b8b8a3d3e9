/**
 * Checks the accessibility of a page in the browser, with axe and with doorhook's own rules for headings and the size
 * of controls.
 */
import axe from "axe-core"
import { Predicate } from "effect"
import type { Page } from "playwright-core"

/**
 * Script for the page: defines `contrastOf`, the contrast of an element's text with its background (WCAG 2.1 section
 * 1.4.3).
 */
export const colors = `
  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor)
      if (color.length === 3 || color[3] > 0) return color
    }
    return [255, 255, 255]
  }
  const contrastOf = (element) => {
    const [light, dark] = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))].sort((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
  }
`

/** Script for the page: describes all violations of doorhook's own rules. */
const look = (tappable: number) => `
(() => {
  const problems = []
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().width > 1 && element.getBoundingClientRect().right > 0
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen)
  const say = (element, what) => problems.push(what + ": " + element.outerHTML.slice(0, 160))
  const nameOf = (element) => (element.getAttribute("aria-label") ?? [...(element.labels ?? [])].map((label) => label.textContent).join(" ")) || element.textContent.trim()

  for (const element of all("input:not([type=hidden]), select, textarea")) {
    if ((element.labels ?? []).length === 0 && !element.hasAttribute("aria-label")) say(element, "no label")
  }
  for (const element of all("a, button, summary, [role=img], nav, table")) {
    if (nameOf(element) === "" && !element.hasAttribute("aria-labelledby")) say(element, "no name")
  }
  for (const element of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) {
    for (const id of ((element.getAttribute("aria-labelledby") ?? "") + " " + (element.getAttribute("aria-describedby") ?? "")).split(" ")) {
      if (id !== "" && document.getElementById(id) === null) say(element, "refers to nothing: " + id)
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id)
  for (const id of ids.filter((id, index) => ids.indexOf(id) !== index)) problems.push("id twice: " + id)

  const levels = all("h1, h2, h3, h4").map(({ tagName }) => Number(tagName[1]))
  if (levels.filter((level) => level === 1).length !== 1) problems.push("not one h1: " + levels)
  levels.forEach((level, index) => level > (levels[index - 1] ?? 0) + 1 && problems.push("a level is left out: " + levels))
  if (all("main").length !== 1) problems.push("not one main")
  if (document.documentElement.lang === "") problems.push("no language")
  if (document.title === "") problems.push("no title")

  ${colors}
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const texts = new Set()
  while (walker.nextNode()) if (walker.currentNode.data.trim() !== "") texts.add(walker.currentNode.parentElement)
  for (const element of texts) {
    if (!seen(element) || element.closest("[disabled], [aria-busy=true]") !== null) continue
    const ratio = contrastOf(element)
    if (ratio < 4.5) say(element, "contrast " + ratio.toFixed(2))
  }

  for (const element of all("button, input:not([type=hidden]), select, summary, a")) {
    const { height } = element.getBoundingClientRect()
    const inText = element.tagName === "A" && getComputedStyle(element).display === "inline"
    const least = element.matches("td a, summary:not(.button), p a, dd a, .plain a, .apart > a, [type=checkbox]") ? 24 : ${tappable}
    if (!inText && height < least - 0.5) say(element, "only " + height + " high")
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) problems.push("scrolls sideways: " + document.documentElement.scrollWidth)
  return problems
})()`

/** Script for the page: describes all violations of axe's rules. */
const byAxe = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.flatMap(({ help, id, nodes }) => nodes.map(({ html }) => id + ": " + help + ": " + html.slice(0, 160))))`

const textsIn = (found: unknown): ReadonlyArray<string> =>
  Array.isArray(found) ? found.filter(Predicate.isString) : ["the page could not be looked at"]

/** Returns all problems of the current page. `tappable` is the minimum height of controls, in pixels. */
export const accessibilityProblems = async (page: Page, tappable = 44): Promise<ReadonlyArray<string>> => {
  const own = textsIn(await page.evaluate(look(tappable)))
  // Evaluated through the browser's debugger, because the page's Content-Security-Policy blocks injected scripts.
  await page.evaluate(axe.source)
  return [...own, ...textsIn(await page.evaluate(byAxe))]
}
