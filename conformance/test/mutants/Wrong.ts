/**
 * All faulty receivers.
 */
import type { WrongReceivers } from "./Base.ts"
import { crashRows } from "./Crashes.ts"
import { duplicateRows } from "./Duplicates.ts"
import { answerRows, httpRows } from "./Http.ts"
import { contentRows, lossRows } from "./Losses.ts"
import { signatureRows } from "./Signatures.ts"

export const rows: WrongReceivers = {
  ...answerRows,
  ...duplicateRows,
  ...lossRows,
  ...crashRows,
  ...contentRows,
  ...httpRows,
  ...signatureRows
}
