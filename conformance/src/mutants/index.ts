/**
 * Every wrong receiver of this version, in the order of the kill table.
 */
import { acknowledgingFaults } from "./Acknowledging.ts"
import { contentFaults } from "./Content.ts"
import { duplicateFaults } from "./Duplicates.ts"
import type { Fault } from "./Fault.ts"
import { httpFaults } from "./Http.ts"
import { identityFaults } from "./Identity.ts"
import { crashFaults, lateFaults } from "./LateAndCrashes.ts"
import { loadFaults } from "./Load.ts"
import { lossFaults } from "./Losses.ts"
import { signatureFaults } from "./Signatures.ts"

export const faults: ReadonlyArray<Fault> = [
  ...acknowledgingFaults,
  ...loadFaults,
  ...duplicateFaults,
  ...identityFaults,
  ...lossFaults,
  ...lateFaults,
  ...crashFaults,
  ...contentFaults,
  ...httpFaults,
  ...signatureFaults
]
