import { relative } from "node:path"
import { defineConfig } from "vitest/config"
import type { TestSpecification } from "vitest/node"
import { BaseSequencer } from "vitest/node"

/** Test files that `npm test` leaves out. */
export const longMatrices = "**/*.long.test.ts"

/** The longest test files, the longest first. */
const long: ReadonlyArray<string> = [
  "packages/doorhook/test/packaging/Packages.test.ts",
  "conformance/test/mutants.test.ts",
  "conformance/test/means.test.ts",
  "packages/doorhook/test/browser/Operators.test.ts",
  "packages/doorhook/test/browser/Owners.test.ts",
  "packages/doorhook/test/Backup.test.ts",
  "packages/simulation/test/simulation.test.ts",
  "conformance/test/engine.test.ts",
  "conformance/test/languages.test.ts",
  "simulator/test/validate/command.test.ts",
  "packages/simulation/test/sqlite.test.ts",
  "conformance/test/receivers.test.ts",
  "conformance/test/vitest/entry.test.ts",
  "packages/doorhook/test/browser/LoginPage.test.ts",
  "packages/node/test/HostileReceivers.test.ts",
  "packages/doorhook/test/faults/Killed.test.ts",
  "packages/bench/test/Benchmarks.test.ts"
]

const place = ({ moduleId, project }: TestSpecification): number => {
  const found = long.indexOf(relative(project.config.root, moduleId))
  return found === -1 ? long.length : found
}

/** Starts the longest test files first. If a long file started last, the other cores would be idle until its end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own method, which returns a copy
    const usual = await super.sort(files)
    return usual.toSorted((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["packages/*/test/**/*.test.ts", "simulator/test/**/*.test.ts", "conformance/test/**/*.test.ts"],
    // Long matrices run in `npm run test:all` (vitest.long.config.ts).
    exclude: [longMatrices],
    globalSetup: [new URL("test-programs.ts", import.meta.url).pathname],
    // Node.js strips the types of the sources itself, so no build and no transformation is needed. Workspace packages are
    // imported from their sources.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: ["--conditions=source"],
    // A compile cache for this process and the processes that tests start. It halves their start-up time.
    env: { NODE_COMPILE_CACHE: new URL("../node_modules/.cache/node", import.meta.url).pathname },
    // More workers than cores, because tests often wait for processes, leases and databases.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // Tests do not affect each other, and isolation would load all modules again for each file.
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 120_000
  }
})
