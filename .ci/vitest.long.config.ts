import { defineConfig } from "vitest/config"
import base, { longMatrices } from "./vitest.config.ts"

/** The long matrices: the files that `npm test` leaves out. */
export default defineConfig({
  test: {
    ...base.test,
    include: [`{packages,simulator,conformance}/${longMatrices}`, "**/Fuzz.test.ts"],
    env: { ...base.test?.env, DOORHOOK_FUZZ_RUNS: "1000" },
    exclude: ["**/node_modules/**"]
  }
})
