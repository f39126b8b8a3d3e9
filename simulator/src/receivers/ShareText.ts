/**
 * Shares as people write them: `95%` or `0.95`.
 */
import { Option } from "effect"

/** The part of 1 that a text means; none when it is no share. */
export const parseShare = (text: string): Option.Option<number> => {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text)
  const value = Number(match?.[1]) / (match?.[2] === "%" ? 100 : 1)
  return value <= 1 ? Option.some(value) : Option.none()
}
