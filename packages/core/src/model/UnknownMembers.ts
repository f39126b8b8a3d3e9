/**
 * What a directory file says that nobody reads: members that are not known, most of them mistyped. They are no errors,
 * because a host may keep more in the file than doorhook needs; but a client whose `secret` is mistyped is a public one.
 */
import { Result, Schema } from "effect"
import { DirectoryDocument, memberNames } from "./DirectoryDocument.ts"
import { didYouMean } from "./Nearest.ts"
import type { Problem } from "./InvalidInput.ts"
import { notKnown, schemaProblems } from "./InvalidInput.ts"

const decode = Schema.decodeUnknownResult(DirectoryDocument, { errors: "all", onExcessProperty: "error" })

const detailOf = (pointer: string): string => {
  const path = pointer.split("/").slice(1)
  const member = path.at(-1) ?? ""
  // Entries of lists are numbered: what they are an entry of says what they may have.
  const place = path.slice(0, -1).findLast((step) => !/^\d+$/.test(step)) ?? ""
  const known = memberNames.get(place) ?? []
  return `is not known and not read${didYouMean(member, known) || `; known are ${known.join(", ")}`}`
}

/** The members of a usable directory that are not known, each with where it is. Values are never told. */
export const unknownMembers = (value: unknown): ReadonlyArray<Problem> =>
  Result.match(decode(value), {
    onSuccess: () => [],
    onFailure: (error) =>
      schemaProblems(error)
        .filter(({ detail }) => detail === notKnown)
        .map(({ pointer }) => ({ pointer, detail: detailOf(pointer) }))
  })
