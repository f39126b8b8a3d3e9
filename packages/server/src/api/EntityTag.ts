/**
 * Entity tags of integrations: the version, so that a change can be made on the condition that nobody else made one
 * since (RFC 9110 section 13.1.1).
 */
import type { ExpectedVersions } from "@doorhook/core"

/** The strong entity tag of a version. */
export const entityTag = (version: number): string => `"${version}"`

/**
 * The versions that an `If-Match` header accepts. A weak tag, or one that we never gave, matches no version; a missing
 * header and `*` match all.
 */
export const expectedVersions = (ifMatch: string | undefined): ExpectedVersions => {
  if (ifMatch === undefined || ifMatch.trim() === "*") return null
  return ifMatch.split(",").flatMap((tag) => {
    const version = /^\s*"(\d{1,15})"\s*$/.exec(tag)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}
