/**
 * A project of its own, whose receivers are not as they should be: `entry.test.ts` runs it, a file at a time.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: { root: new URL(".", import.meta.url).pathname, include: ["*.case.ts"], testTimeout: 60_000 }
})
