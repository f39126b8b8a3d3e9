/**
 * Variations: how an attempt differs from the plain one. Each is something a network, a proxy or a later version of a
 * sender may do to the same event. One row each: its words, and what it changes.
 */
import { Schema, Struct } from "effect"
import { bodyOf } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import { escapeAll, reencode, string } from "./Json.ts"

/** How a request goes over the wire; everything but its head and body. */
export interface Form {
  /** Without `content-length`. */
  readonly chunked: boolean
  /** The body in this many pieces, with a pause in milliseconds between them. */
  readonly pieces: number
  readonly pause: number
  /** The body only after `100 Continue`, or a second without it. */
  readonly expect: boolean
  readonly headerCase: "lower" | "upper" | "title"
  /** With `connection: close`, over a connection of its own. */
  readonly close: boolean
}

export const plainForm: Form = {
  chunked: false,
  pieces: 1,
  pause: 0,
  expect: false,
  headerCase: "lower",
  close: false
}

/** One variation. What a row leaves out stays as it is. */
export interface VariationKind {
  readonly words: string
  readonly form?: Partial<Form>
  /** Over which connection: a new one, or the same one after a moment in which the receiver may close it. */
  readonly connection?: "new" | "kept"
  /** The attempt number goes up by one. */
  readonly nextAttempt?: true
  /** When it is stamped and signed: at the moment of sending, or this many milliseconds off it. */
  readonly stamp?: "now" | { readonly off: number } | { readonly offInTolerance: 1 | -1 }
  /** Another event under the same ids, or other bytes of the same one. */
  readonly event?: (event: EventTemplate) => EventTemplate
  readonly text?: (body: string) => string
  readonly contentType?: string
  /** The `webhook-signature` header, from the good signature. */
  readonly signature?: (good: string) => string
  /** Words of a curl command; null where curl can't do it. */
  readonly curl: string | null
}

const wrong = "v1,MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA="

/** What a receiver is asked to accept of an old or early timestamp, as a share of its tolerance (`--tolerance`). */
export const withinTolerance = 0.8

/** Another event under the same ids. */
export const changed = (event: EventTemplate): EventTemplate => ({
  ...event,
  data: event.data.map(([name, value]) =>
    name === "name" || name === "status" ? [name, string("Somebody Else")] : [name, value]
  )
})

export const variations = {
  next_attempt: { words: "with the next attempt number", nextAttempt: true, curl: "" },
  resigned: { words: "with a new timestamp and signature", stamp: "now", curl: "" },
  aged: { words: "stamped more than a minute ago", stamp: { off: -70_000 }, curl: "" },
  reencoded: { words: "with other whitespace in the body", text: reencode, curl: "" },
  reordered: {
    words: "with its members in another order",
    event: (event) => ({ ...event, data: event.data.toReversed() }),
    curl: ""
  },
  escaped: { words: "with every character of its texts escaped", text: escapeAll, curl: "" },
  kept: { words: "a moment later over the same connection", connection: "kept", curl: null },
  new_connection: { words: "over a new connection", connection: "new", curl: "" },
  close: {
    words: "over a connection of its own (connection: close)",
    form: { close: true },
    curl: "-H 'connection: close'"
  },
  chunked: {
    words: "in chunks, without content-length",
    form: { chunked: true, pieces: 5, pause: 1 },
    curl: "--http1.1 -H 'transfer-encoding: chunked'"
  },
  slow: { words: "slowly, in pieces", form: { pieces: 12, pause: 40 }, curl: null },
  expect: {
    words: "with expect: 100-continue",
    form: { expect: true },
    curl: "--http1.1 -H 'expect: 100-continue'"
  },
  upper_headers: { words: "with header names in upper case", form: { headerCase: "upper" }, curl: "--http1.1" },
  title_headers: { words: "with header names In Title Case", form: { headerCase: "title" }, curl: "--http1.1" },
  content_type_charset: {
    words: "as application/json; charset=utf-8",
    contentType: "application/json; charset=utf-8",
    curl: ""
  },
  content_type_case: {
    words: "as Application/JSON;charset=UTF-8",
    contentType: "Application/JSON;charset=UTF-8",
    curl: ""
  },
  changed: { words: "with another name in data", event: changed, curl: "" },
  signature_last: {
    words: "with two signatures, the second of them good",
    signature: (good) => `${wrong} ${good}`,
    curl: ""
  },
  signature_first: {
    words: "with two signatures, the first of them good",
    signature: (good) => `${good} ${wrong}`,
    curl: ""
  },
  signature_among_unknown: {
    words: "with signatures of unknown versions around the good one",
    signature: (good) => `v2,${wrong.slice(3)} v1a,${wrong.slice(3)} ${good} v9,eA==`,
    curl: ""
  },
  old_stamp: { words: "with a timestamp in the past, within the tolerance", stamp: { offInTolerance: -1 }, curl: "" },
  early_stamp: { words: "with a timestamp in the future, within the tolerance", stamp: { offInTolerance: 1 }, curl: "" }
} satisfies Readonly<Record<string, VariationKind>>

export type Variation = keyof typeof variations
export const Variation = Schema.Literals(Struct.keys(variations))

/** The row of a variation. */
export const variationOf = (variation: Variation): VariationKind => variations[variation]

/** What doorhook changes when it tries again: the attempt's number, its timestamp and so its signature. */
export const retry: ReadonlyArray<Variation> = ["next_attempt", "resigned"]

/** The form that several variations make together. */
export const formOf = (how: ReadonlyArray<Variation>): Form =>
  how.reduce<Form>((form, one) => ({ ...form, ...variationOf(one).form }), plainForm)

/** The body of an event, as variations leave it. */
export const variedBody = (event: EventTemplate, how: ReadonlyArray<Variation>): string => {
  const rows = how.map(variationOf)
  const varied = rows.reduce((one, row) => row.event?.(one) ?? one, event)
  return rows.reduce((body, row) => row.text?.(body) ?? body, bodyOf(varied))
}
