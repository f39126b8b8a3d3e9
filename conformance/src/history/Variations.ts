/**
 * Three tables of ways in which a request can differ from a plain one. Variations are genuine requests that a network,
 * a proxy or a later version of the sender might produce. Forgeries are attacks, or detect mistakes in verifiers.
 * Malformations have a body that is not an event.
 */
import { Signature } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Effect, Redacted, Schema, Struct } from "effect"
import { bodyOf } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import { escapeAll, inOtherCase, reencode, string } from "./Json.ts"

/** How a request is sent, apart from its headers and body. */
export interface Form {
  /** Sends the body in chunks, without `content-length`. */
  readonly chunked: boolean
  /** Number of pieces of the body, and the pause between them in milliseconds. */
  readonly pieces: number
  readonly pause: number
  /** Sends the body after `100 Continue`, or after waiting a second for it. */
  readonly expect: boolean
  readonly headerCase: "lower" | "upper" | "title"
  /** Sends `connection: close`, over a new connection. */
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

/** What a variation changes. A row lists only the differences from a plain request. */
export interface VariationKind {
  readonly words: string
  readonly form?: Partial<Form>
  /** Uses a new connection, or the same one after a pause that lets the receiver close it. */
  readonly connection?: "new" | "kept"
  /** Increases the attempt number by one. */
  readonly nextAttempt?: true
  /**
   * Makes a new timestamp and signature: for the current time, `age` milliseconds old (less if the tolerance is short),
   * or off by a share of the tolerance.
   */
  readonly stamp?: "now" | { readonly age: number } | { readonly offInTolerance: 1 | -1 }
  /** Moves the event's deadline into the past, for this attempt and all later ones. */
  readonly expired?: true
  /** Marks the attempt as one that somebody asked for. */
  readonly replay?: true
  /** Replaces the event but keeps its ids; `text` replaces the text of its body. */
  readonly event?: (event: EventTemplate) => EventTemplate
  readonly text?: (body: string) => string
  readonly contentType?: string
  /** Makes the `webhook-signature` header from the correct signature. */
  readonly signature?: (good: string) => string
  /** Arguments for curl; null if curl can't do it. */
  readonly curl: string | null
}

const wrong = "v1,MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA="

/** Largest error of a timestamp that a receiver should accept, as a share of the tolerance (`--tolerance`). */
export const withinTolerance = 0.8

/** Largest age of a timestamp that a receiver must accept, as a share of the tolerance. */
export const oldestAccepted = 0.5

/** Returns another event with the same ids. */
const changed = (event: EventTemplate): EventTemplate => ({
  ...event,
  data: event.data.map(([name, value]) =>
    name === "name" || name === "status" ? [name, string("Somebody Else")] : [name, value]
  )
})

export const variations = {
  next_attempt: { words: "with the next attempt number", nextAttempt: true, curl: "" },
  resigned: { words: "with a new timestamp and signature", stamp: "now", curl: "" },
  aged: { words: "stamped up to 70 seconds ago", stamp: { age: 70_000 }, curl: "" },
  expired: { words: "an hour after its deadline", expired: true, curl: "" },
  replay: { words: "marked as a replay", replay: true, curl: "" },
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

/** Returns the row of a variation. */
export const variationOf = (variation: Variation): VariationKind => variations[variation]

/** What doorhook changes in a retry: the attempt number and the timestamp, and with it the signature. */
export const retry: ReadonlyArray<Variation> = ["next_attempt", "resigned"]

/** Combines the forms of several variations. */
export const formOf = (how: ReadonlyArray<Variation>): Form =>
  how.reduce<Form>((form, one) => ({ ...form, ...variationOf(one).form }), plainForm)

/** Returns the body of an event with these variations. */
export const variedBody = (event: EventTemplate, how: ReadonlyArray<Variation>): string => {
  const rows = how.map(variationOf)
  const varied = rows.reduce((one, row) => row.event?.(one) ?? one, event)
  return rows.reduce((body, row) => row.text?.(body) ?? body, bodyOf(varied))
}

/** A breach of a MUST gives FAIL, a breach of a SHOULD gives WARN. */
export type Strength = "MUST" | "SHOULD"

/** The content to sign, with its time in milliseconds, and the key if it is not the receiver's. */
export interface Signed {
  readonly id: string
  readonly signedAt: number
  readonly body: string
  /** A wrong key: a stranger's key, a key of zeros, or the public key used as a secret. */
  readonly by?: "stranger" | "nobody" | "public"
}

/** How a forgery is made from a genuine request. A row lists only the differences. */
export interface ForgeryKind {
  readonly words: string
  readonly strength: Strength
  /**
   * Changes the content to sign. The request gets all headers made for the changed content, or `only` its signature.
   */
  readonly signed?: (content: Signed, tolerance: number) => Partial<Signed>
  readonly only?: "signature"
  readonly without?: ReadonlyArray<string>
  readonly header?: readonly [name: string, value: string]
  readonly signature?: (good: string) => string
  readonly body?: (body: string, event: EventTemplate) => string
}

const names = Signature.headerNames
const random = "v1,q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="

/** Keys that are not the receiver's: `whsec_` secrets, or `whsk_` private keys. */
const others = {
  stranger: {
    secret: Redacted.make("whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCwgbm90IHlvdXJz"),
    privateKey: Redacted.make("whsk_c29tZWJvZHkgZWxzZSdzIHByaXZhdGUga2V5LCAzMmI=")
  },
  nobody: {
    // HMAC pads keys with zeros, so this is the empty key in a form that every implementation accepts (RFC 2104,
    // section 2).
    secret: Redacted.make("whsec_AA=="),
    privateKey: Redacted.make(`whsk_${"A".repeat(43)}=`)
  }
} as const

/** Returns the key that a forger signs with, of the same kind as the genuine one. */
export const keyOf = (
  by: NonNullable<Signed["by"]>,
  genuine: Redacted.Redacted
): Effect.Effect<Redacted.Redacted, never, Crypto> =>
  Effect.map(Signature.publicKeyOf(genuine), (publicKey) => {
    // A secret has no public key.
    if (publicKey === null) return others[by === "public" ? "stranger" : by].secret
    return by === "public" ? Redacted.make(publicKey.replace("whpk_", "whsec_")) : others[by].privateKey
  })

type How = Omit<ForgeryKind, "words" | "strength">
const must = (words: string, how: How): ForgeryKind => ({ words, strength: "MUST", ...how })
/**
 * Makes a forgery that a receiver only SHOULD refuse: either only the owner of the secret could send it, or the
 * interface document sets no limit for it.
 */
const should = (words: string, how: How): ForgeryKind => ({ words, strength: "SHOULD", ...how })

/** Returns the index of the base64 part of a signature, after the version and a comma. */
const startOf = (signature: string): number => signature.indexOf(",") + 1
const macOf = (signature: string): string => signature.slice(startOf(signature))

/**
 * Returns the index of the last character whose bits are all significant. Decoders ignore some bits of the character
 * before `=`.
 */
const lastFullCharacter = (signature: string): number => signature.replace(/=+$/, "").length - 2

/** Replaces the version of a signature with the version for the other kind of key. */
const underOtherVersion = (good: string): string => `${good.startsWith("v1a,") ? "v1" : "v1a"},${macOf(good)}`

/** Replaces one base64 character so that the decoded bytes differ. */
const flip = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "A" ? "Q" : "A") + text.slice(at + 1)

const otherId = (id: string): string => `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`

/** Moves the time of signing by `tolerances` times the tolerance. */
const later =
  (tolerances: number): NonNullable<ForgeryKind["signed"]> =>
  ({ signedAt }, tolerance) => ({ signedAt: signedAt + tolerances * tolerance })

export const forgeries = {
  missing: must("without a signature", { without: [names.signature] }),
  no_timestamp: must("signed, without a timestamp", { without: [names.timestamp] }),
  empty_timestamp: must("signed, with an empty timestamp", { header: [names.timestamp, ""] }),
  no_id: must("signed, without a webhook-id", { without: [names.id] }),
  empty_id: must("signed, with an empty webhook-id", { header: [names.id, ""] }),
  bare: must("without signature, timestamp and webhook-id", { without: [names.id, names.timestamp, names.signature] }),
  empty: must("with an empty signature", { signature: () => "" }),
  random: must("with a random signature", { signature: () => random }),
  other_secret: must("signed with another secret", { signed: () => ({ by: "stranger" }) }),
  empty_secret: must("signed with an empty secret", { signed: () => ({ by: "nobody" }) }),
  public_key: must("signed with the public key as if it were a secret", { signed: () => ({ by: "public" }) }),
  truncated: must("with half of the good signature", { signature: (good) => good.slice(0, startOf(good) + 22) }),
  lengthened: should("with the good signature followed by more text", { signature: (good) => `${good}AAAA` }),
  first_byte: must("with a signature whose first byte is wrong", { signature: (good) => flip(good, startOf(good)) }),
  last_byte: must("with a signature whose last byte is wrong", {
    signature: (good) => flip(good, lastFullCharacter(good))
  }),
  other_case: must("with upper and lower case swapped in the good signature", {
    signature: (good) => good.slice(0, startOf(good)) + inOtherCase(macOf(good))
  }),
  version_0: must("with the good signature under version v0", { signature: (good) => `v0,${macOf(good)}` }),
  version_other: must("with the good signature under the version of another kind of key", {
    signature: underOtherVersion
  }),
  version_none: must("with the good signature without a version", { signature: macOf }),
  version_word: must("with the signature «none»", { signature: () => "none" }),
  other_id: must("with the signature of another webhook-id", {
    signed: ({ id }) => ({ id: otherId(id) }),
    only: "signature"
  }),
  other_timestamp: must("with the signature of another timestamp", {
    signed: ({ signedAt }) => ({ signedAt: signedAt - 30_000 }),
    only: "signature"
  }),
  other_body: must("with the signature of another body", {
    signed: ({ body }) => ({ body: body.replace('"create"', '"delete"') }),
    only: "signature"
  }),
  changed_body: must("with another name in data than in the signed body", {
    body: (_, event) => bodyOf(changed(event))
  }),
  added_space: must("with a space added to the signed body", { body: (body) => `${body} ` }),
  two_wrong: must("with two wrong signatures", { signature: (good) => `${flip(good, startOf(good) + 2)} ${random}` }),
  past: should("signed twice the tolerance ago", { signed: later(-2) }),
  future: should("signed twice the tolerance in the future", { signed: later(2) }),
  past_soon: should("signed a little more than the tolerance ago", { signed: later(-1.1) }),
  future_soon: should("signed a little more than the tolerance in the future", { signed: later(1.1) }),
  no_number: must("signed, with a timestamp that is not a number", { header: [names.timestamp, "now"] })
} satisfies Readonly<Record<string, ForgeryKind>>

export type Forgery = keyof typeof forgeries
export const Forgery = Schema.Literals(Struct.keys(forgeries))
export const forgeryOf = (kind: Forgery): ForgeryKind => forgeries[kind]
export const forgeryInWords = (kind: Forgery): string => forgeries[kind].words

interface CarrierKind {
  /** Words to append to the description of a forgery. */
  readonly words: string
  /** How the request is sent. */
  readonly form?: Partial<Form>
  readonly method?: "PUT"
  readonly contentType?: string
  /** Whether the body is longer than 64 KiB, where some parsers switch to streaming. */
  readonly large?: true
  /** Whether the connection has just carried a genuine request. */
  readonly kept?: true
}

/**
 * Ways to send a forged request. Some receivers verify only requests that reach their raw-body hook, use one route or
 * spell the headers in one way.
 */
export const carriers = {
  plain: { words: "" },
  chunked: { words: ", in chunks", form: formOf(["chunked"]) },
  large: { words: ", in a body above 64 KiB", large: true },
  kept: { words: ", over the connection of a genuine request", kept: true },
  charset: { words: ", as application/json; charset=utf-8", contentType: "application/json; charset=utf-8" },
  text: { words: ", as text/plain", contentType: "text/plain" },
  upper: { words: ", with header names in upper case", form: formOf(["upper_headers"]) },
  put: { words: ", with PUT", method: "PUT" }
} satisfies Readonly<Record<string, CarrierKind>>

export type Carrier = keyof typeof carriers
export const Carrier = Schema.Literals(Struct.keys(carriers))
export const carrierOf = (by: Carrier): CarrierKind => carriers[by]

interface MalformationKind {
  readonly words: string
  readonly strength: Strength
  readonly spoil: (body: string) => string
}

export const malformations = {
  truncated: {
    words: "cut in the middle, with a matching content-length",
    strength: "MUST",
    spoil: (body) => body.slice(0, body.length >> 1)
  },
  unclosed: { words: "without its last brace", strength: "MUST", spoil: (body) => body.slice(0, -1) },
  trailing: { words: "followed by more text", strength: "SHOULD", spoil: (body) => `${body}{"x"` },
  single_quotes: { words: "with single quotes", strength: "MUST", spoil: (body) => body.replaceAll('"', "'") }
} satisfies Readonly<Record<string, MalformationKind>>

export type Malformation = keyof typeof malformations
export const Malformation = Schema.Literals(Struct.keys(malformations))
export const malformationInWords = (kind: Malformation): string => malformations[kind].words
