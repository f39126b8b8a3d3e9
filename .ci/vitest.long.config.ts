import { defineConfig } from "vitest/config"
import base, { longMatrices } from "./vitest.config.ts"

/** The long matrices: the files that `npm test` leaves out. */
export default defineConfig({
  test: {
    ...base.test,
    include: ["packages", "simulator", "conformance"].map((folder) => `${folder}/${longMatrices}`),
    exclude: ["**/node_modules/**"],
    passWithNoTests: true
  }
})
