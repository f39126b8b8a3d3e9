/**
 * Sending through a forward proxy: what the proxy gets, what it must not get, and who is at fault for a failure.
 */
import { assert, describe, it } from "@effect/vitest"
import { EgressProxy, UndiciTransport } from "@doorhook/node"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import { startProxy } from "@doorhook/testkit/ForwardProxy"
import { endsWithoutAnswer, greetsAsSsh, neverAnswers, resetsAfterRequest } from "@doorhook/testkit/hostile/Catalogue"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { answers, answersAndEnds, ok, onRequest, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { isSecure, secured } from "@doorhook/testkit/hostile/Tls"
import { detailOf, networks, outcomeOf, post } from "./Posting.ts"

const test = (name: string, body: Effect.Effect<void, never, Scope.Scope>) => it.live(name, () => Effect.scoped(body))

const authority = makeAuthority()

/** Sends a request through a new transport. Only public addresses are allowed unless `options` says otherwise. */
const sendThrough = (
  proxy: EgressProxy.EgressProxyOptions,
  url: string,
  options: Parameters<typeof post>[1] & Pick<UndiciTransport.UndiciTransportOptions, "lookup"> = {}
) => {
  const { lookup, ...request } = options
  return post(url, { allow: [], ...request }).pipe(Effect.provide(layer(proxy, lookup)))
}

const layer = (proxy: EgressProxy.EgressProxyOptions, lookup?: UndiciTransport.UndiciTransportOptions["lookup"]) =>
  UndiciTransport.layer({
    proxy: Result.getOrThrow(EgressProxy.parse(proxy)),
    authorities: [authority.cert],
    ...(lookup === undefined ? {} : { lookup })
  })

/** Certificate for a receiver at a public address. */
const certificate = authority.issue("93.184.216.34")

describe("EgressProxy", () => {
  test(
    "gets only the address, for http and https, and can't read the request",
    Effect.gen(function* () {
      const requests: Array<string> = []
      const plain = yield* serve((socket) =>
        onRequest(socket, (request) => {
          requests.push(request)
          socket.write(ok)
        })
      )
      const secure = yield* serve(secured(certificate, answers(ok)))
      for (const [receiver, origin, place] of [
        [plain, "http://93.184.216.34", "93.184.216.34:80"],
        [plain, "http://93.184.216.34:8080", "93.184.216.34:8080"],
        [plain, "http://[2606:4700::1111]", "[2606:4700::1111]:80"],
        [secure, "https://93.184.216.34", "93.184.216.34:443"]
      ] as const) {
        const proxy = yield* startProxy(receiver.port)
        const result = yield* sendThrough({ url: `http://127.0.0.1:${proxy.port}` }, `${origin}/hook`)
        assert.deepInclude(result, { _tag: "Answered", status: 200, excerpt: "ok" })
        assert.deepStrictEqual(proxy.asked, [{ place, headers: { host: place, connection: "close" } }])
      }
      assert.match(requests[0] ?? "", /^POST \/hook HTTP\/1\.1\r\nhost: 93\.184\.216\.34\r\n/)
      assert.notMatch(requests.join(), /proxy/i)
    })
  )

  test(
    "gets the credentials of its URL, which nobody else gets",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const expected = `Basic ${Buffer.from("us:er:p@ss wörd").toString("base64")}`
      const proxy = yield* startProxy(receiver.port, (_, headers) =>
        headers["proxy-authorization"] === expected ? null : 407
      )
      const send = (credentials: string) =>
        sendThrough({ url: `http://${credentials}127.0.0.1:${proxy.port}` }, "http://93.184.216.34/")
      assert.strictEqual(outcomeOf(yield* send("us%3Aer:p%40ss%20w%C3%B6rd@")), 200)
      for (const credentials of ["", "user:wrong-secret@"]) {
        const result = yield* send(credentials)
        assert.strictEqual(outcomeOf(result), "unavailable")
        assert.strictEqual(
          detailOf(result),
          `the egress proxy 127.0.0.1:${proxy.port} requires valid credentials (status 407)`
        )
      }
    })
  )

  test(
    "reuses its tunnels for later requests",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const proxy = yield* startProxy(receiver.port)
      const body = Effect.gen(function* () {
        for (let i = 0; i < 5; i++) yield* post("http://93.184.216.34/", { allow: [] })
      })
      yield* body.pipe(Effect.provide(layer({ url: `http://127.0.0.1:${proxy.port}` })))
      assert.strictEqual(proxy.asked.length, 1)
      yield* Effect.promise(receiver.allClosed)
    })
  )

  test(
    "can use https itself",
    Effect.gen(function* () {
      const receiver = yield* serve(secured(certificate, answers(ok)))
      const proxy = yield* startProxy(receiver.port, () => null, authority.issue("127.0.0.1"))
      const url = `https://127.0.0.1:${proxy.port}`
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "https://93.184.216.34/")), 200)
      const impostor = yield* startProxy(receiver.port, () => null, authority.issue("other.example"))
      const result = yield* sendThrough({ url: `https://127.0.0.1:${impostor.port}` }, "https://93.184.216.34/")
      assert.match(detailOf(result) ?? "", /^the egress proxy 127\.0\.0\.1:\d+ can't be used \(ERR_TLS_CERT/)
      assert.strictEqual(impostor.asked.length, 0)
    })
  )

  test(
    "gets no request for an address that the address guard refuses",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const proxy = yield* startProxy(receiver.port)
      const url = `http://127.0.0.1:${proxy.port}`
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "http://127.0.0.1/")), "blocked_address")
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "http://169.254.169.254/")), "blocked_address")
      const inside = { lookup: async () => ["93.184.216.34", "10.0.0.1"] }
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "http://inside.example/", inside)), "blocked_address")
      const unknown = { lookup: async () => [] }
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "http://unknown.example/", unknown)), "dns")
      assert.strictEqual(proxy.asked.length, 0)
    })
  )

  test(
    "gets the address that was checked, even if the name changes a moment later",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const proxy = yield* startProxy(receiver.port)
      const url = `http://127.0.0.1:${proxy.port}`
      let asked = 0
      const lookup = async () => [asked++ === 0 ? "93.184.216.34" : "10.0.0.1"]
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "http://name.example/", { lookup })), 200)
      assert.strictEqual(asked, 1)
      assert.deepStrictEqual(
        proxy.asked.map(({ place }) => place),
        ["93.184.216.34:80"]
      )
    })
  )

  test(
    "gets the next address when it can't connect to the first",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const proxy = yield* startProxy(receiver.port, (place) => (place === "93.184.216.34:80" ? null : 502))
      const url = `http://127.0.0.1:${proxy.port}`
      const lookup = async () => ["2606:4700::1111", "93.184.216.34"]
      assert.strictEqual(outcomeOf(yield* sendThrough({ url }, "http://name.example/", { lookup })), 200)
      assert.strictEqual(proxy.asked.length, 2)
    })
  )

  test(
    "is bypassed for excepted networks and names",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const proxy = yield* startProxy(receiver.port, () => 403)
      const url = `http://127.0.0.1:${proxy.port}`
      const allow = networks("127.0.0.0/8")
      const lookup = async () => ["127.0.0.1"]
      const send = (host: string, noProxy: ReadonlyArray<string>) =>
        sendThrough({ url, noProxy }, `http://${host}:${receiver.port}/`, { allow, lookup })
      assert.strictEqual(outcomeOf(yield* send("127.0.0.1", ["127.0.0.0/8"])), 200)
      assert.strictEqual(outcomeOf(yield* send("name.example", ["10.0.0.0/8", "127.0.0.1"])), 200)
      assert.strictEqual(outcomeOf(yield* send("name.example", ["example"])), 200)
      assert.strictEqual(outcomeOf(yield* send("Name.Example.", ["*.example"])), 200)
      assert.strictEqual(outcomeOf(yield* send("name.example", ["NAME.example"])), 200)
      assert.strictEqual(proxy.asked.length, 0)
      assert.strictEqual(receiver.accepted(), 5)
      // `noProxy` matches names by whole labels. A network must contain all addresses of a name.
      assert.strictEqual(outcomeOf(yield* send("name.example", ["ame.example", "10.0.0.0/8"])), "connection_refused")
      assert.strictEqual(outcomeOf(yield* send("name.example", [])), "connection_refused")
      const both = sendThrough({ url, noProxy: ["127.0.0.1"] }, `http://name.example:${receiver.port}/`, {
        allow,
        lookup: async () => ["127.0.0.1", "127.0.0.2"]
      })
      assert.strictEqual(outcomeOf(yield* both), "connection_refused")
      assert.strictEqual(proxy.asked.length, 4)
    })
  )

  test(
    "is at fault if it can't be used, and the detail says so without its credentials",
    Effect.gen(function* () {
      const noProxy = yield* serve(greetsAsSsh)
      const gone = yield* Effect.scoped(serve(answers(ok)))
      for (const { port } of [noProxy, gone]) {
        const result = yield* sendThrough(
          { url: `http://user:proxy-secret@127.0.0.1:${port}` },
          "http://93.184.216.34/"
        )
        assert.strictEqual(outcomeOf(result), "unavailable")
        assert.match(
          detailOf(result) ?? "",
          new RegExp(`^the egress proxy 127\\.0\\.0\\.1:${port} can't be used \\(\\w+\\)$`)
        )
      }
      const silent = yield* serve(neverAnswers)
      const unreached = yield* sendThrough({ url: `https://127.0.0.1:${silent.port}` }, "http://93.184.216.34/", {
        deadline: 100
      })
      assert.strictEqual(outcomeOf(unreached), "unavailable")
      assert.strictEqual(detailOf(unreached), "the egress proxy could not be reached within 100 ms")
      yield* Effect.promise(silent.allClosed)
      const nowhere = yield* sendThrough({ url: "http://user:proxy-secret@proxy.invalid" }, "http://93.184.216.34/")
      assert.match(detailOf(nowhere) ?? "", /^the egress proxy proxy\.invalid:80 can't be used \(E\w+\)$/)
    })
  )

  test(
    "is not at fault if it can't connect or may not connect to the receiver",
    Effect.gen(function* () {
      for (const status of [403, 502, 503]) {
        const proxy = yield* serve(answers(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`))
        const result = yield* sendThrough({ url: `http://127.0.0.1:${proxy.port}` }, "http://93.184.216.34/")
        assert.strictEqual(outcomeOf(result), "connection_refused")
        assert.match(
          detailOf(result) ?? "",
          new RegExp(`did not connect to 93\\.184\\.216\\.34:80 \\(status ${status}\\)$`)
        )
        yield* Effect.promise(proxy.allClosed)
      }
      const waiting = yield* serve(neverAnswers)
      const result = yield* sendThrough({ url: `http://127.0.0.1:${waiting.port}` }, "http://93.184.216.34/", {
        deadline: 100
      })
      assert.strictEqual(outcomeOf(result), "timeout")
      assert.strictEqual(detailOf(result), "no answer within 100 ms; the egress proxy had not connected")
      yield* Effect.promise(waiting.allClosed)
    })
  )

  describe("that hangs up without an answer", () => {
    const host = (n: number): string => `93.184.216.${n}`

    it.live.each([endsWithoutAnswer, resetsAfterRequest])(
      "is at fault once this happened for three hosts in a row: %o",
      (behave) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { port } = yield* serve(behave)
            const outcomes = Effect.forEach([1, 1, 2, 1, 3, 1, 2], (n) => post(`http://${host(n)}/`, { allow: [] }))
            const results = yield* outcomes.pipe(Effect.provide(layer({ url: `http://127.0.0.1:${port}` })))
            const [first, ...others] = results.map((result) => `${outcomeOf(result)}: ${detailOf(result)}`)
            const self = `the egress proxy 127.0.0.1:${port}`
            assert.strictEqual(first, `connection_reset: ${self} hung up when asked to connect to ${host(1)}:80`)
            assert.deepStrictEqual(
              others.map((result) => result.startsWith(`unavailable: ${self} can't be used`)),
              [false, false, false, true, true, true]
            )
          })
        )
    )

    test(
      "is not at fault for the dead hosts of one client among several, or after an answer",
      Effect.gen(function* () {
        const receiver = yield* serve(answersAndEnds(ok))
        let isAway = false
        const proxy = yield* startProxy(receiver.port, (place) =>
          place.startsWith("93.184.217.") && !isAway ? null : "hangs up"
        )
        const dead = (n: number, client: string) => post(`http://${host(n)}/`, { allow: [], client })
        const healthy = post("http://93.184.217.1/", { allow: [], client: "healthy" })
        yield* Effect.gen(function* () {
          assert.strictEqual(outcomeOf(yield* healthy), 200)
          for (let n = 1; n <= 10; n++) assert.strictEqual(outcomeOf(yield* dead(n, "dead")), "connection_reset")
          assert.strictEqual(outcomeOf(yield* healthy), 200)
          for (let n = 1; n <= 2; n++) assert.strictEqual(outcomeOf(yield* dead(n, `dead ${n}`)), "connection_reset")
          isAway = true
          assert.strictEqual(outcomeOf(yield* healthy), "unavailable", "three hosts, three clients")
          isAway = false
          assert.strictEqual(outcomeOf(yield* healthy), 200)
          assert.strictEqual(outcomeOf(yield* dead(1, "dead")), "connection_reset")
        }).pipe(Effect.provide(layer({ url: `http://127.0.0.1:${proxy.port}` })))
      })
    )

    it("ignores hosts that it hung up on long ago", () => {
      let now = 0
      const hangUps = new EgressProxy.HangUps(() => now)
      const hungUp = (n: number): boolean => {
        const isBroken = hangUps.hungUp(host(n), "client")
        now += 40_000
        return isBroken
      }
      assert.deepStrictEqual([1, 2, 3, 4].map(hungUp), [false, false, false, false])
    })

    it("is not at fault for a host on which it hangs up a minute after the others", () => {
      let now = 0
      const hangUps = new EgressProxy.HangUps(() => now)
      const hungUp = (n: number): boolean => hangUps.hungUp(host(n), `client ${n}`)
      assert.deepStrictEqual([1, 2, 3].map(hungUp), [false, false, true])
      now += 30_000
      assert.isTrue(hungUp(1))
      now += 31_000
      assert.isFalse(hungUp(1))
      assert.deepStrictEqual([2, 3].map(hungUp), [false, true], "three hosts within a minute again")
    })
  })

  test(
    "does not change the outcomes of receivers behind it",
    Effect.gen(function* () {
      const silent = yield* serve(neverAnswers)
      const proxy = yield* startProxy(silent.port)
      const url = `http://127.0.0.1:${proxy.port}`
      const result = yield* sendThrough({ url }, "http://93.184.216.34/", { deadline: 100 })
      assert.strictEqual(detailOf(result), "no answer within 100 ms")
      yield* Effect.promise(silent.allClosed)
      const handshaking = yield* startProxy(silent.port)
      const stuck = yield* sendThrough({ url: `http://127.0.0.1:${handshaking.port}` }, "https://93.184.216.34/", {
        deadline: 100
      })
      assert.strictEqual(detailOf(stuck), "no answer within 100 ms; the TLS handshake had not ended")
      yield* Effect.promise(silent.allClosed)
      const forAnother = yield* serve(isSecure(authority))
      const misled = yield* startProxy(forAnother.port)
      const wrong = yield* sendThrough({ url: `http://127.0.0.1:${misled.port}` }, "https://93.184.216.34/")
      assert.strictEqual(outcomeOf(wrong), "tls")
    })
  )

  it.each(["proxy.example:3128", "socks5://proxy.example", "nonsense-secret", "http://user:%zz-secret@proxy.example"])(
    "is not configured by %s",
    (url) => {
      const result = EgressProxy.parse({ url })
      assert.isTrue(Result.isFailure(result))
      assert.notMatch(Result.isFailure(result) ? result.failure.message : "", /secret/)
    }
  )

  it.each(["10.0.0.0/33", "http://x", "a b", ""])("rejects the exception %j", (entry) => {
    assert.isTrue(Result.isFailure(EgressProxy.parse({ url: "http://proxy.example", noProxy: [entry] })))
  })
})
