/**
 * What of a run may be shown: terminals and build logs are read by others.
 */

/** A text of the receiver's on one line, without what would steer a terminal. */
export const shownText = (text: string, length: number): string => {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()
  return line.length > length ? `${line.slice(0, length)}...` : line
}
