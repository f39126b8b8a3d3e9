/**
 * The suite as a program: how it is called, and the program of the bundled receivers. `OneFile.ts` replaces it in the suite as one
 * file.
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
  // Sources start sources, and built files start built files.
  receiver: [fileURLToPath(new URL(`mutants/main${here.endsWith(".ts") ? ".ts" : ".js"}`, here))]
}
