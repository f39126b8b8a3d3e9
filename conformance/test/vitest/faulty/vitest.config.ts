/**
 * A separate project with faulty receivers. `entry.test.ts` runs it, one file at a time.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: { root: new URL(".", import.meta.url).pathname, include: ["*.case.ts"], testTimeout: 60_000 }
})
