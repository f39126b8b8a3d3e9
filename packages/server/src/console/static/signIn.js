/**
 * Signing in: the key is tried once, and kept if the service takes it.
 */
import { call } from "./api.js"
import { h, show } from "./dom.js"
import { keep } from "./session.js"

/**
 * @param {Element} place
 * @param {string | null} why What to say above the field.
 * @param {() => void} done
 */
export const signIn = (place, why, done) => {
  const problem = h("p", { class: "alert", id: "problem", role: "alert", hidden: why === null }, why)
  const field = h("input", {
    id: "key",
    type: "password",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    required: true,
    "aria-describedby": "problem key-says"
  })
  const button = h("button", { type: "submit" }, "Sign in")
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    button.disabled = true
    try {
      // The figures are answered without the database too: who is to mend that needs the console.
      await call("GET", "figures", { as: field.value.trim() })
      keep(field.value.trim())
      done()
    } catch (error) {
      const wrong = error instanceof Error && "status" in error && error.status === 401
      problem.textContent = wrong
        ? "That is not the operator key."
        : String(error instanceof Error ? error.message : error)
      problem.hidden = false
      field.select()
      field.focus()
    } finally {
      button.disabled = false
    }
  }
  show(
    place,
    h(
      "form",
      { class: "panel sign-in", submit },
      h("h1", {}, "Operator console"),
      problem,
      h("label", { for: "key" }, "Operator key"),
      field,
      h(
        "p",
        { class: "muted", id: "key-says" },
        "DOORHOOK_OPERATOR_KEY, or the key that was printed at the first start. It stays in this tab until you sign out or close it."
      ),
      button
    )
  )
  field.focus()
}
