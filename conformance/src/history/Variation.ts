/**
 * How an attempt differs from the plain one: each variation is something a network, a proxy or a later version of a sender
 * may do to the same event.
 */
import { Schema } from "effect"
import { kindsOf } from "./KindsOf.ts"

const meanings = {
  next_attempt: "with the next attempt number",
  resigned: "stamped and signed anew",
  aged: "stamped more than a minute ago",
  reencoded: "with other whitespace in the body",
  reordered: "with its members in another order",
  escaped: "with every character of its texts escaped",
  kept: "a moment later over the same connection",
  new_connection: "over a new connection",
  close: "over a connection of its own (connection: close)",
  chunked: "in chunks, without content-length",
  slow: "slowly, in pieces",
  expect: "after asking with expect: 100-continue",
  upper_headers: "with header names in upper case",
  title_headers: "with header names In Title Case",
  content_type_charset: "as application/json; charset=utf-8",
  content_type_case: "as Application/JSON;charset=UTF-8",
  changed: "with another name in data",
  signature_last: "with two signatures, the second of them good",
  signature_first: "with two signatures, the first of them good",
  signature_among_unknown: "with signatures of unknown versions around the good one",
  old_stamp: "with a timestamp of four minutes ago",
  early_stamp: "with a timestamp of four minutes ahead"
} as const

export type Variation = keyof typeof meanings

const variations = kindsOf(meanings)

export const Variation = Schema.Literals(variations)

/** What it does, in words. */
export const variationInWords = (variation: Variation): string => meanings[variation]

/** What doorhook changes when it tries again: the attempt's number, its timestamp and so its signature. */
export const retry: ReadonlyArray<Variation> = ["next_attempt", "resigned"]
