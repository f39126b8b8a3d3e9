/**
 * Every faulty receiver of this version, in the order of the kill table.
 */
import { acknowledgementFaults } from "./Acknowledgement.ts"
import { crashFaults } from "./Crashes.ts"
import { duplicateFaults } from "./Duplicates.ts"
import type { Fault } from "./Fault.ts"
import { forgeryFaults } from "./Forgeries.ts"
import { identityFaults } from "./Identity.ts"
import { lossFaults } from "./Losses.ts"
import { payloadFaults } from "./Payloads.ts"
import { signatureFaults } from "./Signatures.ts"
import { transportFaults } from "./Transport.ts"

export const faults: ReadonlyArray<Fault> = [
  ...acknowledgementFaults,
  ...duplicateFaults,
  ...identityFaults,
  ...lossFaults,
  ...crashFaults,
  ...payloadFaults,
  ...transportFaults,
  ...signatureFaults,
  ...forgeryFaults
]
