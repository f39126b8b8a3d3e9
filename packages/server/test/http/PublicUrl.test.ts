import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Listener } from "../../src/http/Listener.ts"
import { PublicUrl } from "../../src/http/PublicUrl.ts"

describe("the public URL", () => {
  it.effect("has no trailing slash", () =>
    Effect.gen(function* () {
      for (const [given, url] of [
        ["https://doors.example", "https://doors.example"],
        ["https://doors.example/", "https://doors.example"],
        ["https://DOORS.example:443/base//", "https://doors.example/base"],
        ["http://127.0.0.1:4000/", "http://127.0.0.1:4000"]
      ] as const) {
        assert.strictEqual((yield* Effect.provide(PublicUrl, PublicUrl.layer(given))).url, url)
      }
    })
  )

  it.effect("must be a base for links", () =>
    Effect.gen(function* () {
      for (const given of [
        "",
        "doors.example",
        "ftp://doors.example",
        "https://doors.example/?a=1",
        "https://u@doors.example",
        "https://doors.example/#x"
      ]) {
        const error = yield* Effect.flip(Effect.provide(PublicUrl, PublicUrl.layer(given)))
        assert.include(error.message, JSON.stringify(given))
      }
    })
  )

  it.effect("is the listener's address by default", () =>
    Effect.gen(function* () {
      const urlOn = (host: string) =>
        Effect.provide(
          PublicUrl,
          PublicUrl.layerListening.pipe(
            Layer.provide(Listener.layer({ host, port: 0, headersTimeout: 1_000, bodyTimeout: 1_000 }))
          )
        )
      assert.match((yield* urlOn("127.0.0.1")).url, /^http:\/\/127\.0\.0\.1:\d+$/)
      assert.match((yield* urlOn("0.0.0.0")).url, /^http:\/\/localhost:\d+$/)
    })
  )
})
