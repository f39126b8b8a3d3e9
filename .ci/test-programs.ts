/**
 * Bundles the programs that tests start as processes, from the sources. A bundle starts with a third of the CPU time that the
 * sources need, and tests start hundreds of processes.
 */
import { join } from "node:path"
import { build } from "rolldown"

const root = new URL("..", import.meta.url).pathname

/** Vitest calls this function once before a run. */
export const setup = async (): Promise<void> => {
  await build({
    cwd: root,
    input: {
      doorhook: "packages/doorhook/src/command/main.ts",
      demo: "packages/doorhook/src/demo/main.ts",
      conformance: "conformance/test/support/main.ts",
      receiver: "conformance/test/mutants/main.ts",
      move: "packages/sql/test/MoveProgram.ts"
    },
    platform: "node",
    resolve: { conditionNames: ["source", "node", "import", "default"] },
    logLevel: "warn",
    output: { dir: join(root, "node_modules/.cache/programs"), format: "es", cleanDir: true }
  })
}
