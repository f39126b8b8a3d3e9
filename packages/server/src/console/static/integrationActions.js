/**
 * What an operator can do about one integration. What sends or stops something asks first.
 */
import { call } from "./api.js"
import { attempt, confirm, toldLine } from "./dialogs.js"
import { h, show } from "./dom.js"
import { addressOf, field } from "./lists.js"
import { at, counted } from "./words.js"

/**
 * @param {string} url
 * @param {string} expiresAt
 */
const showLink = (url, expiresAt) => {
  const text = h("input", { readonly: true, value: url, focus: () => text.select() })
  // In the dialog: what is outside of it is behind it, and is not read out.
  const told = h("div", { role: "status" })
  const copy = async () => {
    text.select()
    // Browsers keep the clipboard from pages that are neither of https nor of this machine.
    if (navigator.clipboard === undefined)
      return show(told, toldLine("This browser copies on pages of https only. Copy the selected text.", "bad"))
    await navigator.clipboard.writeText(url).then(
      () => show(told, toldLine("The link is copied.", "good")),
      () => show(told, toldLine("The browser did not copy it. Copy the selected text.", "bad"))
    )
  }
  const dialog = h(
    "dialog",
    { "aria-labelledby": "link-title", close: () => dialog.remove() },
    h("h2", { id: "link-title" }, "A link for the integration's owner"),
    h("p", {}, "Whoever has it sees this integration's deliveries and can send tests, until ", at(expiresAt), "."),
    field("Link", "link-text", text, "wide"),
    told,
    h(
      "p",
      { class: "row" },
      h("button", { type: "button", class: "quiet", click: () => dialog.close() }, "Close"),
      h("button", { type: "button", click: copy }, "Copy")
    )
  )
  document.body.append(dialog)
  dialog.showModal()
}

/**
 * The buttons of an integration's view.
 * @param {string} id
 * @param {() => void} again Draws the view anew.
 */
export const actionsOn = (id, again) => {
  const self = `integrations/${id}`

  /**
   * A button that asks, does something, and tells it.
   * @param {string} key
   * @param {string} label
   * @param {{ title: string, text: string, yes: string } | null} question
   * @param {() => Promise<string | null>} action
   */
  const button = (key, label, question, action, kind = "quiet") =>
    h(
      "button",
      {
        type: "button",
        id: key,
        class: kind,
        click: async (/** @type {any} */ { currentTarget }) => {
          if (question !== null && !(await confirm(question))) return
          await attempt(currentTarget, async () => {
            const told = await action()
            again()
            return told
          })
        }
      },
      label
    )

  const enable = () =>
    button(
      "enable",
      "Enable",
      null,
      async () => {
        await call("PATCH", self, { body: { status: "enabled" } })
        return "It is enabled. What it has missed is sent when you recover it."
      },
      ""
    )
  const disable = () =>
    button(
      "disable",
      "Disable",
      {
        title: `Disable integration ${id}?`,
        text: "What waits for it is cancelled, and new events are kept as skipped. All of that can be recovered later.",
        yes: "Disable"
      },
      async () => {
        await call("PATCH", self, { body: { status: "disabled" } })
        return "It is disabled."
      },
      "danger"
    )
  const probe = () =>
    button("probe", "Try it again", null, async () => {
      const { delivery_id } = await call("POST", `${self}/probe`)
      location.hash = addressOf(`deliveries/${delivery_id}`)
      return "This delivery is sent. Acknowledged, it enables the integration."
    })
  const test = () =>
    button(
      "test",
      "Send a test event",
      {
        title: "Send a test event?",
        text: "One made-up event goes to this integration and to no other. It is marked with “test”: true. A receiver that takes calls only may ring.",
        yes: "Send it"
      },
      async () => {
        const { delivery_id } = await call("POST", `${self}/test_event`)
        location.hash = addressOf(`deliveries/${delivery_id}`)
        return "A test event is on its way."
      }
    )
  const link = () =>
    button("link", "Make a link for its owner", null, async () => {
      const { expires_at, url } = await call("POST", `${self}/portal_links`)
      showLink(url, expires_at)
      return null
    })

  return { enable, disable, probe, test, link }
}

/** @param {Date} date */
const localInput = (date) => new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

/**
 * The form that recovers what an integration has missed.
 * @param {string} id
 * @param {() => void} again Draws the view anew.
 */
export const recovery = (id, again) => {
  const since = h("input", {
    type: "datetime-local",
    required: true,
    value: localInput(new Date(Date.now() - 86_400_000))
  })
  const recoverButton = h("button", { type: "submit", id: "recover-now", class: "quiet" }, "Recover")
  const recover = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const from = new Date(since.value)
    if (Number.isNaN(from.getTime())) return
    const sure = await confirm({
      title: "Send what was not acknowledged?",
      text: `All deliveries to integration ${id} since ${from.toLocaleString()} that ended without an acknowledgement are sent, skipped ones too.`,
      yes: "Recover"
    })
    if (!sure) return
    await attempt(recoverButton, async () => {
      const { deliveries } = await call("POST", `integrations/${id}/recover`, { body: { since: from.toISOString() } })
      again()
      return deliveries === 0
        ? "Nothing to send: since then everything was acknowledged or is on its way."
        : `${counted(deliveries, "delivery is", "deliveries are")} on the way.`
    })
  }
  return h("form", { class: "filters", submit: recover }, field("Since (your time)", "since", since), recoverButton)
}
