import { Directory, failureText, UserId, BuildingId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layerNone } from "../../src/directory/FileDirectory.ts"

describe("a service that was started without a directory", () => {
  it.effect("logs that it has none, and how to provide one", () =>
    Effect.gen(function* () {
      const directory = yield* Directory
      const error = yield* Effect.flip(directory.administers(UserId.make("ada"), BuildingId.make(1)))
      assert.match(failureText(error), /It said: The service was started without a directory\. Restart .* --directory/)
    }).pipe(Effect.provide(layerNone))
  )
})
