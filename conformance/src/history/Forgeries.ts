/**
 * Requests that are not genuine, or no events: one row for each kind, with its words, how strongly a receiver must refuse
 * it, and how it is made of the genuine one. Each is an attack, or a mistake of a verifier that it finds out.
 */
import { Signature } from "@doorhook/core"
import { Redacted, Schema, Struct } from "effect"
import { bodyOf } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import { changed } from "./Variations.ts"

/** A breach of a MUST is FAIL, of a SHOULD WARN. */
export type Strength = "MUST" | "SHOULD"

type Headers = Readonly<Record<string, string>>

/** What a signature is made over; times in milliseconds. */
export interface Signed {
  readonly id: string
  readonly signedAt: number
  readonly body: string
}

/** Other content that is signed, perhaps by another secret. */
export type Otherwise = Partial<Signed> & { readonly by?: Redacted.Redacted<string> }

/** The genuine request, and the headers that were signed otherwise where a kind asks for that. */
export interface Genuine {
  readonly headers: Headers
  readonly signed: Headers
  readonly body: string
  /** The event of the body. */
  readonly event: EventTemplate
}

/** What is sent; what is left out is as in the genuine request. */
type Make = (genuine: Genuine) => { readonly headers?: Headers; readonly body?: string }

interface ForgeryKind {
  readonly words: string
  readonly strength: Strength
  readonly make: Make
  readonly sign: (content: Signed, tolerance: number) => Otherwise
}

const names = Signature.headerNames
const random = "v1,q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="
const stranger = Redacted.make("whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCwgbm90IHlvdXJz")
/** HMAC fills keys up with zeros: this is the empty one, in a form that every implementation takes (RFC 2104, section 2). */
const emptySecret = Redacted.make("whsec_AA==")
/** How far off a timestamp is, in tolerances. Just beyond is more than clocks may differ. */
const farBeyond = 2
const justBeyond = 1.1
/** A signature is `v1,` and 44 characters; the last before `=` holds bits that decoders ignore, the one before it not. */
const firstCharacter = 3
const lastFullCharacter = 3 + 41

const must = (words: string, make: Make, sign: ForgeryKind["sign"] = () => ({})): ForgeryKind => ({
  words,
  strength: "MUST",
  make,
  sign
})
/** Nobody without the secret can send it, or the interface names no number for it. */
const should = (...row: Parameters<typeof must>): ForgeryKind => ({ ...must(...row), strength: "SHOULD" })

const without =
  (...removed: ReadonlyArray<string>): Make =>
  ({ headers }) => ({
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !removed.includes(name)))
  })
const replaced =
  (name: string, value: string): Make =>
  ({ headers }) => ({ headers: { ...headers, [name]: value } })
/** With another signature in place of the good one. */
const under =
  (change: (signature: string) => string): Make =>
  ({ headers }) => ({ headers: { ...headers, [names.signature]: change(headers[names.signature] ?? "") } })
const macUnder = (version: string): Make => under((signature) => `${version}${signature.slice(firstCharacter)}`)
/** With all headers as they were signed otherwise, or with the signature alone. */
const asSigned: Make = ({ signed }) => ({ headers: signed })
const underSigned: Make = ({ headers, signed }) => ({
  headers: { ...headers, [names.signature]: signed[names.signature] ?? "" }
})
const signedAfter =
  (tolerances: number): ForgeryKind["sign"] =>
  ({ signedAt }, tolerance) => ({ signedAt: signedAt + tolerances * tolerance })

/** Another base64 character, so that the bytes differ. */
const flip = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === "A" ? "Q" : "A") + text.slice(at + 1)

const inOtherCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (one) => (one < "a" ? one.toLowerCase() : one.toUpperCase()))

export const forgeries = {
  missing: must("without a signature", without(names.signature)),
  no_timestamp: must("signed, without a timestamp", without(names.timestamp)),
  empty_timestamp: must("signed, with an empty timestamp", replaced(names.timestamp, "")),
  no_id: must("signed, without a webhook-id", without(names.id)),
  empty_id: must("signed, with an empty webhook-id", replaced(names.id, "")),
  bare: must("without signature, timestamp and webhook-id", without(names.id, names.timestamp, names.signature)),
  empty: must("with an empty signature", replaced(names.signature, "")),
  random: must("with a random signature", replaced(names.signature, random)),
  other_secret: must("signed with another secret", asSigned, () => ({ by: stranger })),
  empty_secret: must("signed with an empty secret", asSigned, () => ({ by: emptySecret })),
  truncated: must(
    "with half of the good signature",
    under((good) => good.slice(0, 3 + 22))
  ),
  lengthened: should(
    "with the good signature and more text behind it",
    under((good) => `${good}AAAA`)
  ),
  first_byte: must(
    "with a signature whose first byte is wrong",
    under((good) => flip(good, firstCharacter))
  ),
  last_byte: must(
    "with a signature whose last byte is wrong",
    under((good) => flip(good, lastFullCharacter))
  ),
  other_case: must(
    "with the good signature in the other case",
    under((good) => `v1,${inOtherCase(good.slice(firstCharacter))}`)
  ),
  version_0: must("with the good signature under version v0", macUnder("v0,")),
  version_1a: must("with the good signature under version v1a", macUnder("v1a,")),
  version_none: must("with the good signature without a version", macUnder("")),
  version_word: must("with the signature «none»", replaced(names.signature, "none")),
  other_id: must("with the signature of another webhook-id", underSigned, ({ id }) => ({
    id: `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`
  })),
  other_timestamp: must("with the signature of another timestamp", underSigned, ({ signedAt }) => ({
    signedAt: signedAt - 30_000
  })),
  other_body: must("with the signature of another body", underSigned, ({ body }) => ({
    body: body.replace('"create"', '"delete"')
  })),
  changed_body: must("with another name in data than what was signed", ({ event }) => ({
    body: bodyOf(changed(event))
  })),
  added_space: must("with a space added to the signed body", ({ body }) => ({ body: `${body} ` })),
  two_wrong: must(
    "with two wrong signatures",
    under((good) => `${flip(good, 5)} ${random}`)
  ),
  past: should("signed twice the tolerance ago", asSigned, signedAfter(-farBeyond)),
  future: should("signed twice the tolerance ahead", asSigned, signedAfter(farBeyond)),
  past_soon: should("signed a little more than the tolerance ago", asSigned, signedAfter(-justBeyond)),
  future_soon: should("signed a little more than the tolerance ahead", asSigned, signedAfter(justBeyond)),
  no_number: must("signed, with a timestamp that is no number", replaced(names.timestamp, "now"))
} satisfies Readonly<Record<string, ForgeryKind>>

export type Forgery = keyof typeof forgeries
export const Forgery = Schema.Literals(Struct.keys(forgeries))
export const forgeryInWords = (kind: Forgery): string => forgeries[kind].words

/**
 * How a forged request comes: by itself in a small body; in chunks; in a body above 64 KiB; over a connection that has
 * just carried a genuine request. A receiver may check only what its raw-body hook sees.
 */
export const carriers = {
  plain: "",
  chunked: ", in chunks",
  large: ", in a body above 64 KiB",
  kept: ", over the connection of a genuine request"
} as const
export type Carrier = keyof typeof carriers
export const Carrier = Schema.Literals(Struct.keys(carriers))

interface MalformationKind {
  readonly words: string
  readonly strength: Strength
  readonly spoil: (body: string) => string
}

export const malformations = {
  truncated: {
    words: "cut in the middle, with the length to match",
    strength: "MUST",
    spoil: (body) => body.slice(0, body.length >> 1)
  },
  unclosed: { words: "without its last brace", strength: "MUST", spoil: (body) => body.slice(0, -1) },
  trailing: { words: "with more text behind it", strength: "SHOULD", spoil: (body) => `${body}{"x"` },
  single_quotes: { words: "with single quotes", strength: "MUST", spoil: (body) => body.replaceAll('"', "'") }
} satisfies Readonly<Record<string, MalformationKind>>

export type Malformation = keyof typeof malformations
export const Malformation = Schema.Literals(Struct.keys(malformations))
export const malformationInWords = (kind: Malformation): string => malformations[kind].words
