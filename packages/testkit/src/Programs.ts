/**
 * The programs that tests start, as bundled from the sources before each run (`.ci/test-programs.ts`).
 */
import { fileURLToPath } from "node:url"

const bundled = (name: string): string =>
  fileURLToPath(new URL(`../../../node_modules/.cache/programs/${name}.js`, import.meta.url))

export const doorhookProgram = bundled("doorhook")
export const demoProgram = bundled("demo")
export const conformanceProgram = bundled("conformance")

/** A faulty or correct receiver of the suite's own tests (`conformance/test/mutants`). */
export const receiverProgram = bundled("receiver")
