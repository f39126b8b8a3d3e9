/**
 * Why a file or a folder of the suite's own can't be used, in words.
 */
import { fileTroubleOf as troubleOf } from "@doorhook/core"
import { Predicate } from "effect"

const isOf = (error: unknown, code: string): boolean => Predicate.hasProperty(error, "code") && error.code === code

/** What went wrong. What is there already is in the way only where a folder is to be made. */
export const fileTroubleOf = (error: unknown): string =>
  isOf(error, "EEXIST") ? "it is a file, not a folder" : troubleOf(error)

/** Whether it went wrong because there is no such thing. */
export const isMissing = (error: unknown): boolean => isOf(error, "ENOENT")
