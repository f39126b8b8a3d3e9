/**
 * The targets that the suite may send to.
 */
import { NameResolver, UrlPolicy } from "@doorhook/core"
import { listening } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { conformanceProgram } from "@doorhook/testkit/Doorhook"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { writeFileSync } from "node:fs"
import { createServer } from "node:https"
import { failedOf } from "../src/evidence/Exchange.ts"
import { unusable } from "../src/execution/Send.ts"
import { authorize, isLocal, parse } from "../src/run/Target.ts"
import { conformance } from "./support/command.ts"

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
  ])("%s is not local", (address) => assert.isFalse(isLocal(address)))
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

  it.effect("is allowed with a public address if it is owned", () =>
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

  it.effect("is refused if it is public and does not resolve here", () =>
    Effect.gen(function* () {
      assert.match(yield* outcome([], false, "hooks.acme.com"), /^hooks\.acme\.com \(unresolved\) is not a loopback/)
    })
  )
})

describe("a URL", () => {
  it("is refused if it was copied from a report, which leaves out its query", () => {
    const shown = UrlPolicy.shownUrl(new URL("http://127.0.0.1:9000/hook?key=hush"))
    const read = parse(shown)
    assert.isTrue(Result.isFailure(read) && /stands for a query that reports leave out/.test(read.failure.message))
  })

  it("must be http or https, without user, fragment or spaces", () => {
    for (const text of ["http://127.0.0.1:9/hook", "https://receiver.test/a?b=c"]) {
      assert.isTrue(Result.isSuccess(parse(text)), text)
    }
    for (const text of ["", "hook", "ftp://a/", "http://a:b@c/", "http://a/#b", "http://a b/"]) {
      assert.isTrue(Result.isFailure(parse(text)), text)
    }
  })
})

describe("a receiver that accepts no connection", () => {
  const said = (url: string, code: string): string =>
    unusable(new URL(url), failedOf(Object.assign(new Error("it failed"), { code }), false, 1)).message

  it("is reported with advice", () => {
    assert.match(said("http://receiver.test/", "ECONNREFUSED"), /in 3 tries \(it failed\)\. Is the receiver/)
    assert.match(said("http://receiver.test/", "ENOTFOUND"), /Does the name resolve on this machine\? Correct --url/)
    assert.match(said("https://receiver.test/", "CERT_HAS_EXPIRED"), /certificate has expired\. Renew it\.$/)
    assert.match(said("https://receiver.test/", "ERR_TLS_CERT_ALTNAME_INVALID"), /is for another name/)
    assert.match(said("https://receiver.test/", "SELF_SIGNED_CERT_IN_CHAIN"), /NODE_EXTRA_CA_CERTS=FILE\.$/)
    assert.match(said("https://receiver.test/", "ERR_SSL_WRONG_VERSION_NUMBER"), /Use a URL with http:\/\//)
    assert.match(said("https://receiver.test/", "EPROTO"), /Check the receiver's TLS settings/)
    assert.match(said("http://receiver.test/", "UND_ERR_CONNECT_TIMEOUT"), /Is the receiver still running\?$/)
  })

  it.live("is reported with how to trust its certificate's authority, and passes with it", () =>
    Effect.gen(function* () {
      const authority = makeAuthority()
      const file = `${yield* temporaryFolder}/authority.pem`
      writeFileSync(file, authority.cert)
      const server = createServer(authority.issue("127.0.0.1"), (request, response) => {
        request.resume().on("end", () => response.end())
      })
      const { port } = yield* listening(server)
      const run = ["run", "--url", `https://127.0.0.1:${port}/hook`, "--only", "R-ACK-02", "--max-time", "20s"]
      const unknown = yield* conformance(...run)
      assert.strictEqual(unknown.exitCode, 4, unknown.output)
      assert.match(unknown.message, /install its full chain there\. .* NODE_EXTRA_CA_CERTS=FILE\.$/)
      const { finished } = yield* startNode([conformanceProgram, ...run], {
        env: { NODE_EXTRA_CA_CERTS: file }
      })
      const { code, stderr, stdout } = yield* Effect.promise(() => finished)
      assert.strictEqual(code, 0, stdout + stderr)
    })
  )
})
