/**
 * A separate project with faulty receivers, run by `entry.test.ts`.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    root: new URL(".", import.meta.url).pathname,
    include: ["*.case.ts"],
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: ["--conditions=source"],
    testTimeout: 60_000
  }
})
