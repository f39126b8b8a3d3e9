/**
 * What is asked before something is sent, and what is told afterwards.
 */
import { h } from "./dom.js"

/**
 * Asks whether to go on. Escape and Cancel are no.
 * @param {{ title: string, text: string, yes: string }} question
 * @returns {Promise<boolean>}
 */
export const confirm = ({ text, title, yes }) =>
  new Promise((resolve) => {
    const cancel = h("button", { type: "button", class: "quiet", click: () => dialog.close() }, "Cancel")
    const accept = h("button", { type: "button", click: () => dialog.close("yes") }, yes)
    const dialog = h(
      "dialog",
      {
        "aria-labelledby": "question",
        "aria-describedby": "consequence",
        close: () => {
          dialog.remove()
          resolve(dialog.returnValue === "yes")
        }
      },
      h("h2", { id: "question" }, title),
      h("p", { id: "consequence" }, text),
      h("div", { class: "row" }, cancel, accept)
    )
    document.body.append(dialog)
    dialog.showModal()
    cancel.focus()
  })

/**
 * How something went, in a line.
 * @param {string} text
 * @param {"good" | "bad"} kind
 */
export const toldLine = (text, kind) => h("p", { class: kind === "good" ? "notice good" : "alert" }, text)

/**
 * Tells how something went. It is read out, and stays for a while.
 * @param {string} text
 * @param {"good" | "bad"} kind
 */
export const tell = (text, kind = "good") => {
  const place = document.getElementById("told")
  const message = toldLine(text, kind)
  place?.replaceChildren(message)
  setTimeout(() => message.remove(), kind === "good" ? 6_000 : 12_000)
}

/**
 * Does something that may be refused, and tells what the service said. The button can't be pressed twice meanwhile.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<string | null>} action Answers what to tell; null is nothing.
 */
export const attempt = async (button, action) => {
  button.disabled = true
  try {
    const told = await action()
    if (told !== null) tell(told)
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error), "bad")
  } finally {
    button.disabled = false
    // It may have been drawn anew meanwhile.
    if (document.activeElement === document.body) document.getElementById(button.id)?.focus()
  }
}
