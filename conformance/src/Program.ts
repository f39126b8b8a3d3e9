/**
 * The suite as a program: how it is called, and the program of the bundled receivers. As one file it is another
 * (`OneFile.ts`).
 */
import { fileURLToPath } from "node:url"

export interface Program {
  /** The name of the command. */
  readonly name: string
  /** The beginning of every command line that the suite prints. */
  readonly called: string
  /** The arguments to Node.js that start a bundled receiver. */
  readonly receiver: ReadonlyArray<string>
}

const here = import.meta.url

export const program: Program = {
  name: "conformance",
  called: "npx doorhook conformance",
  // Sources run from sources, and what was built from what was built.
  receiver: [fileURLToPath(new URL(`mutants/main${here.endsWith(".ts") ? ".ts" : ".js"}`, here))]
}
