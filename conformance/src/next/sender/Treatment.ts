/**
 * How the suite treats the events of a sender: what their attempts are answered.
 */

/** What one attempt is answered. */
export type Treatment =
  | { readonly k: "status"; readonly status: number }
  | { readonly k: "redirect"; readonly status: number }
  /** The connection is closed without an answer. */
  | { readonly k: "reset" }
  /** 200, after a share of the deadline. */
  | { readonly k: "after"; readonly share: number }

export const acknowledge: Treatment = { k: "status", status: 200 }

/** What each event is answered until it is acknowledged, by the order in which events come. */
export const plan: ReadonlyArray<ReadonlyArray<Treatment>> = [
  [],
  [{ k: "status", status: 500 }],
  [{ k: "status", status: 202 }],
  [{ k: "redirect", status: 302 }],
  [{ k: "redirect", status: 307 }],
  [{ k: "reset" }],
  [{ k: "after", share: 1.3 }],
  [{ k: "after", share: 0.8 }],
  [{ k: "status", status: 204 }],
  [
    { k: "status", status: 503 },
    { k: "status", status: 404 }
  ]
]

/** The answer to an attempt, counted from 0, of an event, counted from 0. */
export const treatmentOf = (event: number, attempt: number): Treatment =>
  plan[event % plan.length]?.[attempt] ?? acknowledge

/** Whether the answer acknowledges. */
export const acknowledges = (treatment: Treatment): boolean =>
  treatment.k === "status" ? treatment.status === 200 : treatment.k === "after" && treatment.share < 1

export const inWords = (treatment: Treatment, deadline: number): string => {
  switch (treatment.k) {
    case "status":
      return String(treatment.status)
    case "redirect":
      return `${treatment.status} to another URL`
    case "reset":
      return "closed without an answer"
    case "after":
      return `200 after ${Math.round(treatment.share * deadline)} ms`
  }
}
