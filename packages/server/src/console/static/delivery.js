/**
 * One delivery: where it stands and why, what happens next, and each attempt.
 */
import { call } from "./api.js"
import { attempt, confirm } from "./dialogs.js"
import { h, show } from "./dom.js"
import { addressOf } from "./lists.js"
import { ago, at, badge, duration, outcome, said } from "./words.js"

/** @param {import("./api.js").Attempt} one */
const attemptItem = (one) =>
  h(
    "li",
    { class: one.outcome },
    h("strong", {}, `Attempt ${one.number}`),
    " ",
    outcome(one),
    " ",
    h(
      "span",
      { class: "muted" },
      at(one.started_at),
      ", after ",
      h("span", { class: "number" }, duration(one.duration_ms))
    ),
    h("p", {}, said(one.explanation)),
    one.response_excerpt
      ? h(
          "details",
          { "data-key": `excerpt ${one.number}` },
          h("summary", { "data-key": `open ${one.number}` }, "What the receiver answered"),
          h("pre", { tabindex: "0", "data-key": `answer ${one.number}` }, one.response_excerpt)
        )
      : null
  )

/**
 * What was never sent is not sent again.
 * @param {import("./api.js").DeliveryDetail} one
 */
const resendLabel = ({ attempts }) => (attempts.length === 0 ? "Send now" : "Send again")

/**
 * @param {import("./api.js").DeliveryDetail} one
 * @param {(event: any) => unknown} resend
 */
const body = (one, resend) => {
  const due = one.state === "retrying" ? one.next_attempt_at : null
  return [
    h(
      "section",
      { class: "panel", "aria-labelledby": "now" },
      h("div", { class: "row apart" }, h("h2", { id: "now" }, "What happens"), badge(one.state)),
      h(
        "dl",
        { class: "facts" },
        h("dt", {}, "Why"),
        h("dd", {}, said(one.explanation.why)),
        h("dt", {}, "Next"),
        h("dd", {}, said(one.explanation.next), due === null ? null : [" That is ", ago(due), "."]),
        h("dt", {}, "Integration"),
        h("dd", {}, h("a", { href: addressOf(`integrations/${one.integration_id}`) }, one.integration_id)),
        h("dt", {}, "Event"),
        h("dd", {}, h("a", { class: "mono", href: addressOf("deliveries", { event_id: one.event_id }) }, one.event_id)),
        h("dt", {}, "Created"),
        h("dd", {}, at(one.created_at)),
        one.reason === null ? null : [h("dt", {}, "Reason"), h("dd", {}, one.reason.replaceAll("_", " "))]
      ),
      h("p", { class: "row" }, h("button", { type: "button", id: "resend", click: resend }, resendLabel(one)))
    ),
    h(
      "section",
      { class: "panel", "aria-labelledby": "attempts" },
      h("h2", { id: "attempts" }, "Attempts"),
      one.attempts.length === 0 && due === null
        ? h("p", { class: "muted" }, "None yet.")
        : h(
            "ol",
            { class: "timeline" },
            ...one.attempts.map(attemptItem),
            due === null
              ? null
              : h(
                  "li",
                  { class: "coming" },
                  h("strong", {}, `Attempt ${one.attempts.length + 1}`),
                  " comes ",
                  ago(due),
                  h("span", { class: "muted" }, " at ", at(due))
                )
          )
    )
  ]
}

/** @param {import("./main.js").View} view */
export const delivery = async ({ again, keep, path: [id = ""], place, signal }) => {
  const resend = async (
    /** @type {import("./api.js").DeliveryDetail} */ one,
    /** @type {HTMLButtonElement} */ currentTarget
  ) => {
    const isFirst = one.attempts.length === 0
    const sure = await confirm({
      title: isFirst ? `Send ${id} now?` : `Send ${id} again?`,
      text: isFirst
        ? "It is sent at once, whatever its state."
        : "It is sent at once as its next attempt, whatever its state. A retry that waits is replaced. The receiver gets the same webhook-id as before.",
      yes: resendLabel(one)
    })
    if (!sure) return
    await attempt(currentTarget, async () => {
      await call("POST", `deliveries/${id}/resend`)
      again()
      return `${id} is on its way.`
    })
  }
  await keep(2_000, async () => {
    const one = await call("GET", `deliveries/${id}`, { signal })
    show(
      place,
      body(one, ({ currentTarget }) => resend(one, currentTarget))
    )
  })
}
