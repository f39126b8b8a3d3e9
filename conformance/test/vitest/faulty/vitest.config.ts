/**
 * A project of its own, whose receiver answers 409 to duplicates: `entry.test.ts` runs it.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: { root: new URL(".", import.meta.url).pathname, include: ["receiver.case.ts"], testTimeout: 60_000 }
})
