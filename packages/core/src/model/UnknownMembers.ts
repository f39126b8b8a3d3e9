/**
 * Finds unknown members of a directory file, which are usually misspellings. They are not errors, because a host may
 * store additional data in the file. They are reported, because a client with a misspelled `secret` is public.
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
  // Skips the numbers of list entries, because the list's name determines the known members of its entries.
  const place = path.slice(0, -1).findLast((step) => !/^\d+$/.test(step)) ?? ""
  const known = memberNames.get(place) ?? []
  return `is unknown and was ignored${didYouMean(member, known) || `; known members: ${known.join(", ")}`}`
}

/** Returns the unknown members of a valid directory, with their places but never their values. */
export const unknownMembers = (value: unknown): ReadonlyArray<Problem> =>
  Result.match(decode(value), {
    onSuccess: () => [],
    onFailure: (error) =>
      schemaProblems(error)
        .filter(({ detail }) => detail === notKnown)
        .map(({ pointer }) => ({ pointer, detail: detailOf(pointer) }))
  })
