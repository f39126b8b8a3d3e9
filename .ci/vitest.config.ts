import { defineConfig } from "vitest/config"
import type { TestSpecification } from "vitest/node"
import { BaseSequencer } from "vitest/node"

/** Test files that `npm test` leaves out. */
export const longMatrices = "**/*.long.test.ts"

/** Test files that take longest as measured, the longest first. */
const long = `Packages.long test/mutants Owners.long MoveKills Pages.long Vanished.long LoginPage test/means test/Move
  simulation/test/simulation browser/ PostgresStore BuildingMoveRaces faults/Killed test/Backup faults/Vanished Concurrency Pooler
  /StoresAgree simulation/test/sqlite test/engine faults/ Dispatcher vitest/entry warm.long questions.long seeds.long virtual scale
  /SqliteStore postgres/Publish Races conformance/test security/ test/Agreement bench/test TokenGrowth TokenStoresAgree
  PasswordHash test/Postgres HostileReceivers`.split(/\s+/)

const place = ({ moduleId }: TestSpecification): number => [...long, ""].findIndex((part) => moduleId.includes(part))

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
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    // Tests do not affect each other, and isolation would load all modules again for each file.
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 120_000
  }
})
