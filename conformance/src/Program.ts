/**
 * How to call the suite and start the bundled receivers. `OneFile.ts` replaces this module in the single-file suite.
 */
import { fileURLToPath } from "node:url"

export interface Program {
  /** Name of the command. */
  readonly name: string
  /** Start of every command line that the suite prints. */
  readonly called: string
  /** Node.js arguments that start a bundled receiver. */
  readonly receiver: ReadonlyArray<string>
}

const here = import.meta.url

export const program: Program = {
  name: "conformance",
  called: "npx doorhook conformance",
  // A TypeScript file when the suite runs from its sources, a JavaScript file when it was built.
  receiver: [fileURLToPath(new URL(`mutants/main${here.endsWith(".ts") ? ".ts" : ".js"}`, here))]
}
