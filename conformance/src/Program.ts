/**
 * How to call the suite. `OneFile.ts` replaces this module in the single-file suite.
 */
export interface Program {
  /** Name of the command. */
  readonly name: string
  /** Start of every command line that the suite prints. */
  readonly called: string
}

export const program: Program = {
  name: "conformance",
  called: "npx doorhook conformance"
}
