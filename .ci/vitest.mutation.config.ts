import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** The tests for mutation testing: only tests of pure rules, which need no process or database. */
export default defineConfig({
  // Mutation testing runs in a copy of the sources, so `@doorhook/core` must resolve to that copy.
  resolve: {
    alias: { "@doorhook/core": fileURLToPath(new URL("../packages/core/src/index.ts", import.meta.url)) }
  },
  test: {
    ...base.test,
    globalSetup: [],
    // Aliases need Vite's own loader.
    experimental: {},
    isolate: true,
    include: [
      "packages/core/test/model/{AddressPolicy,FailureState,RetryPolicy,TokenValidity,UrlPolicy}.test.ts",
      "packages/core/test/model/Matcher.test.ts",
      "packages/core/test/delivery/{Acknowledgement,AttemptExplanation,CustomHeaders,HealthRules,DeliveryPolicy,DeliveryRequest,Explanation,Redirect,Settlements,Signature,Transitions,TransitionSequences}.test.ts",
      "packages/core/test/oauth/RedirectUri.test.ts"
    ]
  }
})
