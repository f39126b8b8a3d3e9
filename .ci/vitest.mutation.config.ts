import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** The tests that mutation testing runs: those of the rules alone, which need no process and no database. */
export default defineConfig({
  ...base,
  // Mutants are made in a copy of the sources: tests must not find the original by the package's name.
  resolve: {
    ...base.resolve,
    alias: { "@doorhook/core": fileURLToPath(new URL("../packages/core/src/index.ts", import.meta.url)) }
  },
  test: {
    ...base.test,
    isolate: true,
    include: [
      "packages/core/test/model/{AddressPolicy,FailureState,RetryPolicy,TokenValidity,UrlPolicy}.test.ts",
      "packages/core/test/publish/Matcher.test.ts",
      "packages/core/test/delivery/{Acknowledgement,AttemptExplanation,HealthRules,DeliveryPolicy,DeliveryRequest,Explanation,Redirect,Settlements,Signature,Transitions,TransitionSequences}.test.ts",
      "packages/core/test/oauth/RedirectUri.test.ts"
    ]
  }
})
