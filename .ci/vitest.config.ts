import { defineConfig } from "vitest/config"
import { LongestFirst } from "./longest-first.ts"

export default defineConfig({
  // Workspace packages are imported from their sources: no build step before a test.
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["packages/*/test/**/*.test.ts", "simulator/test/**/*.test.ts", "conformance/test/**/*.test.ts"],
    // Processes that tests start read their sources from there, which halves the time that a start takes.
    env: { NODE_COMPILE_CACHE: new URL("../node_modules/.cache/node", import.meta.url).pathname },
    // More than there are cores: a good part of the time is waiting, for processes, leases and databases.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // No test leaves anything behind that another would meet, and each file would load everything anew.
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 120_000
  }
})
