/**
 * All faulty receivers.
 */
import type { Rows } from "./Base.ts"
import { crashRows } from "./Crashes.ts"
import { duplicateRows } from "./Duplicates.ts"
import { answerRows, httpRows } from "./Http.ts"
import { contentRows, lossRows } from "./Losses.ts"
import { signatureRows } from "./Signatures.ts"

export const rows: Rows = {
  ...answerRows,
  ...duplicateRows,
  ...lossRows,
  ...crashRows,
  ...contentRows,
  ...httpRows,
  ...signatureRows
}
