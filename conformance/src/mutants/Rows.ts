/**
 * Every wrong receiver of this version.
 */
import { answerRows } from "./Answers.ts"
import type { Rows } from "./Changes.ts"
import { contentRows } from "./Content.ts"
import { crashRows } from "./Crashes.ts"
import { duplicateRows } from "./Duplicates.ts"
import { httpRows } from "./Http.ts"
import { lossRows } from "./Losses.ts"
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
