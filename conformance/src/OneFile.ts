/**
 * How to call the suite as a single file. `.ci/bundle-command.ts` replaces `Program.ts` with this module.
 */
import { Shell } from "@doorhook/core"
import { relative, sep } from "node:path"
import type { Program } from "./Program.ts"

const file = process.argv[1] ?? ""

const shortest = (path: string): string => {
  const near = relative(process.cwd(), path)
  return near.startsWith("..") ? path : `.${sep}${near}`
}

const called = (): string => {
  if (file.split(sep).includes("node_modules")) return "npx @doorhook/conformance"
  return `node ${Shell.quote(shortest(file))}`
}

export const program: Program = {
  name: "doorhook-conformance",
  called: called()
}
