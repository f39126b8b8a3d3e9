/**
 * The program `doorhook-conformance`: the suite as a single file, for machines without a recent Node.js.
 */
import { conformanceCommand } from "@doorhook/conformance"
import { runMain } from "./Process.ts"

runMain(conformanceCommand, process.argv.slice(2))
