/**
 * Where the suite may go.
 */
import { NameResolver, UrlPolicy } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { authorize, isLocal, parse } from "../src/executor/Target.ts"

describe("an address", () => {
  it.each([
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "::ffff:127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "fd00::1",
    "0.0.0.0"
  ])("%s is local", (address) => assert.isTrue(isLocal(address)))

  it.each([
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700::1",
    "172.32.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "not an address"
  ])("%s is not", (address) => assert.isFalse(isLocal(address)))
})

describe("a name", () => {
  const resolving = (...addresses: ReadonlyArray<string>) =>
    Layer.succeed(NameResolver, { addresses: () => Effect.succeed(addresses) })
  const outcome = (addresses: ReadonlyArray<string>, owned = false, host = "receiver.test") =>
    authorize(new URL(`http://${host}/hook`), owned).pipe(
      Effect.provide(resolving(...addresses)),
      Effect.match({ onSuccess: () => "allowed", onFailure: ({ message }) => message })
    )

  it.effect("is allowed when all its addresses are local", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(["127.0.0.1", "::1"]), "allowed")
      assert.match(yield* outcome(["127.0.0.1", "8.8.8.8"]), /^receiver\.test \(8\.8\.8\.8\) is not a loopback/)
    })
  )

  it.effect("is allowed anywhere when it is owned", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcome(["8.8.8.8"], true), "allowed")
    })
  )

  it.effect("without an address can't be tested", () =>
    Effect.gen(function* () {
      assert.match(yield* outcome([]), /has no address/)
      assert.match(yield* outcome([], false, "receiver"), /has no address/)
      assert.match(yield* outcome([], true, "hooks.acme.com"), /has no address/)
    })
  )

  it.effect("of the public kind is refused when it does not resolve here", () =>
    Effect.gen(function* () {
      assert.match(yield* outcome([], false, "hooks.acme.com"), /^hooks\.acme\.com \(unresolved\) is not a loopback/)
    })
  )
})

describe("a URL", () => {
  it("is not what a report shows of one: its query was left out", () => {
    const shown = UrlPolicy.shownUrl(new URL("http://127.0.0.1:9000/hook?key=hush"))
    const read = parse(shown)
    assert.isTrue(Result.isFailure(read) && /stands for a query that reports leave out/.test(read.failure.message))
  })

  it("is http or https, without user, fragment or spaces", () => {
    for (const text of ["http://127.0.0.1:9/hook", "https://receiver.test/a?b=c"]) {
      assert.isTrue(Result.isSuccess(parse(text)), text)
    }
    for (const text of ["", "hook", "ftp://a/", "http://a:b@c/", "http://a/#b", "http://a b/"]) {
      assert.isTrue(Result.isFailure(parse(text)), text)
    }
  })
})
