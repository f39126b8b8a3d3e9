/**
 * The suite on real receivers. Correct receivers pass, whatever their style. Each faulty receiver fails the requirement
 * about its fault.
 */
import { Crypto, Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { requirements } from "../src/requirements/Catalogue.ts"
import { conformance, idsWith } from "./support/command.ts"
import { acknowledge, answer, receiver, serialReceiver } from "./support/receiver.ts"
import type { Behaviour, Received } from "./support/receiver.ts"

/** The requirements that can pass at level 1. R-GET-01 is one of them: only its check of effects needs a probe. */
const proven = requirements.filter(({ level, profile }) => level === 1 && profile === null).map(({ id }) => id)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const record = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {})
const bodyOf = ({ body }: Received) => record(JSON.parse(body))
const isJson = ({ body }: Received): boolean => {
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}
const eventOf = (received: Received) => record(bodyOf(received)["event"])
const dataOf = (received: Received) => record(eventOf(received)["data"])

const run = Effect.fnUntraced(function* (behave: Behaviour, ...flags: ReadonlyArray<string>) {
  const target = yield* receiver(behave)
  const result = yield* conformance("run", "--url", target.url, ...flags)
  return { ...result, target }
})

const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI="

const checking: Behaviour = ({ body, headers }, response) => {
  const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const verified = Signature.verify(Redacted.make(secret), flat, body, Date.now())
  void Effect.runPromise(Effect.provide(verified, Crypto.layerWebCrypto)).then((problem) =>
    answer(response, problem === null ? 200 : 401)
  )
}

describe("a correct receiver passes", () => {
  it.live("all requirements of level 1", () =>
    Effect.gen(function* () {
      const { exitCode, output, report, target } = yield* run(acknowledge, "--seed", "3")
      assert.sameMembers([...idsWith(report, "PASS")], [...proven], output)
      assert.strictEqual(exitCode, 0)
      assert.strictEqual(report?.verdict, "pass")
      assert.strictEqual(report?.seed, 3)
      // Some attempts are given up before they have arrived.
      assert.isAtLeast(report?.attempts ?? 0, target.received.filter(({ method }) => method === "POST").length)
    })
  )

  const manners: ReadonlyArray<readonly [name: string, behave: Behaviour, ...flags: ReadonlyArray<string>]> = [
    ["that closes each connection, and says so", (_, response) => response.setHeader("connection", "close").end("ok")],
    ["that closes each connection without saying so", (_, response, socket) => response.end("ok", () => socket.end())],
    [
      "that answers in chunks",
      (_, response) => {
        response.write("{")
        response.end("}")
      }
    ],
    [
      "that sends an early hint first",
      (_, response) => {
        response.writeEarlyHints({ link: "</style.css>; rel=preload" })
        response.end()
      }
    ],
    ["that answers late, but in time", (_, response) => setTimeout(() => response.end("ok"), 20)],
    ["that answers 204, if any 2xx is accepted", (_, response) => answer(response, 204), "--ack", "2xx"],
    [
      "that accepts only what doorhook sends",
      (received, response) => {
        const { headers, method } = received
        const isDoorhook =
          method === "POST" &&
          headers["content-type"]?.toLowerCase().startsWith("application/json") === true &&
          headers["user-agent"]?.startsWith("doorhook/") === true &&
          String(headers[Signature.headerNames.id]).startsWith("evt_") &&
          /^\d{10}$/.test(String(headers[Signature.headerNames.timestamp])) &&
          /^[1-9]\d*$/.test(String(headers[Signature.headerNames.attempt])) &&
          headers[Signature.headerNames.signature] === undefined &&
          isJson(received) &&
          isRecord(eventOf(received)["data"])
        answer(response, isDoorhook ? 200 : 400)
      }
    ]
  ]
  it.live.each(manners)("%s", ([, behave, ...flags]) =>
    Effect.gen(function* () {
      const { exitCode, output, report } = yield* run(behave, "--only", "R-ACK-*,R-DUP-*,R-HTTP-*", ...flags)
      assert.sameMembers(
        [...idsWith(report, "PASS")],
        proven.filter((id) => /^R-(?:ACK|DUP|HTTP)/.test(id)),
        output
      )
      assert.strictEqual(exitCode, 0)
    })
  )

  it.live("that checks signatures, if the suite has its secret, and fails without", () =>
    Effect.gen(function* () {
      const signed = yield* run(checking, "--secret", secret, "--only", "R-ACK-*,R-DUP-*,R-HTTP-*")
      assert.strictEqual(signed.exitCode, 0, signed.output)
      assert.isFalse(signed.output.includes(secret))
      const unsigned = yield* run(checking, "--only", "R-ACK-01")
      assert.strictEqual(unsigned.exitCode, 1)
      assert.include(idsWith(unsigned.report, "FAIL"), "R-ACK-01")
    })
  )

  it.live("that serves one connection at a time and keeps it", () =>
    Effect.gen(function* () {
      const target = yield* serialReceiver
      const { exitCode, output } = yield* conformance(
        "run",
        "--url",
        target,
        "--only",
        "R-ACK-*,R-DUP-*,R-FWD-01",
        "--skip",
        "R-DUP-04",
        "--max-time",
        "4m"
      )
      assert.strictEqual(exitCode, 0, output)
    })
  )
})

/** A fault, the flags of the run, and the requirements that the fault breaks. */
interface Fault {
  readonly name: string
  readonly behave: Behaviour
  readonly flags?: ReadonlyArray<string>
  readonly named: ReadonlyArray<string>
  /** The expected verdict: WARN if the fault breaks only a SHOULD; FAIL by default. */
  readonly found?: "WARN"
}

const short = ["--deadline", "400ms"]
const shortest = ["--deadline", "200ms"]

const faults: ReadonlyArray<Fault> = [
  { name: "answers 202", behave: (_, response) => answer(response, 202), named: ["R-ACK-02"] },
  { name: "answers 201", behave: (_, response) => answer(response, 201), named: ["R-ACK-02"] },
  { name: "answers 204", behave: (_, response) => answer(response, 204), named: ["R-ACK-02"] },
  {
    name: "refuses a first attempt now and then",
    behave: ({ duplicate, index }, response) => answer(response, !duplicate && index % 5 === 3 ? 500 : 200),
    named: ["R-ACK-01"]
  },
  {
    name: "answers after the deadline",
    behave: (_, response) => setTimeout(() => response.end("ok"), 30_000).unref(),
    flags: short,
    named: ["R-ACK-03"]
  },
  { name: "never answers", behave: () => undefined, flags: short, named: ["R-ACK-03"] },
  {
    name: "begins an answer and never ends it",
    behave: (_, response) => {
      response.writeHead(200)
      response.write("o")
    },
    flags: short,
    named: ["R-ACK-04"]
  },
  {
    name: "answers 409 to duplicates",
    behave: ({ duplicate }, response) => answer(response, duplicate ? 409 : 200, "seen it"),
    named: ["R-DUP-01"]
  },
  {
    name: "answers 500 to duplicates",
    behave: ({ duplicate }, response) => answer(response, duplicate ? 500 : 200),
    named: ["R-DUP-01"]
  },
  {
    name: "hangs on duplicates",
    behave: ({ duplicate }, response) => (duplicate ? undefined : response.end("ok")),
    flags: ["--deadline", "1s"],
    named: ["R-DUP-01"]
  },
  {
    name: "answers 409 to duplicates with another body",
    behave: (() => {
      const bodies = new Map<unknown, string>()
      return ({ body, headers }, response) => {
        const known = bodies.get(headers["webhook-id"])
        bodies.set(headers["webhook-id"], known ?? body)
        answer(response, known === undefined || known === body ? 200 : 409)
      }
    })(),
    named: ["R-DUP-01"]
  },
  {
    name: "answers 500 to an unknown member in data",
    behave: (received, response) => answer(response, "battery_level" in dataOf(received) ? 500 : 200),
    named: ["R-FWD-01"]
  },
  {
    name: "answers 400 to an unknown member beside event",
    behave: (received, response) => answer(response, Object.keys(bodyOf(received)).length === 1 ? 200 : 400),
    named: ["R-FWD-01"]
  },
  {
    name: "answers 400 to an unknown member beside data",
    behave: (received, response) => answer(response, Object.keys(eventOf(received)).length === 3 ? 200 : 400),
    named: ["R-FWD-01"]
  },
  {
    name: "answers 400 to an unknown member inside unit",
    behave: (received, response) =>
      answer(response, Object.keys(record(dataOf(received)["unit"])).length > 2 ? 400 : 200),
    named: ["R-FWD-01"]
  },
  {
    name: "answers 400 to an unknown resource type",
    behave: (received, response) =>
      answer(response, ["call", "access_log"].includes(String(eventOf(received)["resource_type"])) ? 200 : 400),
    named: ["R-FWD-01"],
    found: "WARN"
  },
  {
    name: "answers 422 to an unknown action",
    behave: (received, response) => answer(response, eventOf(received)["action"] === "create" ? 200 : 422),
    named: ["R-FWD-01"],
    found: "WARN"
  },
  {
    name: "crashes on a null optional",
    behave: (received, response, socket) =>
      dataOf(received)["image_url"] === null ? socket.destroy() : response.end("ok"),
    named: ["R-FWD-02"]
  },
  {
    name: "crashes on an absent optional",
    behave: (received, response, socket) =>
      eventOf(received)["resource_type"] === "call" && !("unit" in dataOf(received))
        ? socket.destroy()
        : response.end("ok"),
    named: ["R-FWD-02"]
  },
  {
    name: "crashes on a name with astral characters",
    behave: (received, response, socket) =>
      /[\u{10000}-\u{10ffff}]/u.test(String(dataOf(received)["name"])) ? socket.destroy() : response.end("ok"),
    named: ["R-FWD-02"]
  },
  {
    name: "refuses an empty name",
    behave: (received, response) => answer(response, dataOf(received)["name"] === "" ? 400 : 200),
    named: ["R-FWD-02"]
  },
  {
    name: "refuses a name of more than 200 characters",
    behave: (received, response) => answer(response, String(dataOf(received)["name"]).length > 200 ? 500 : 200),
    named: ["R-FWD-02"]
  },
  { name: "resets the connection", behave: (_, _response, socket) => socket.resetAndDestroy(), named: ["R-ACK-01"] },
  { name: "closes the connection", behave: (_, _response, socket) => socket.end(), named: ["R-ACK-01"] },
  {
    name: "closes before the end of the body",
    behave: (_, response, socket) => {
      response.writeHead(200, { "content-length": "10" })
      response.write("abc", () => socket.end())
    },
    named: ["R-ACK-04"]
  },
  {
    name: "announces more body than it sends",
    behave: (_, response) => {
      response.writeHead(200, { "content-length": "10" })
      response.end("abc")
    },
    flags: short,
    named: ["R-ACK-04"]
  },
  {
    name: "announces less body than it sends",
    behave: (_, response) => {
      response.writeHead(200, { "content-length": "2" })
      response.end("hello")
    },
    named: ["R-ACK-04"]
  },
  {
    name: "answers something that is not HTTP",
    behave: (_, _response, socket) => socket.end("OK\r\n\r\n"),
    named: ["R-ACK-01", "R-ACK-04"]
  }
]

describe.concurrent("a faulty receiver fails the requirement about its fault", () => {
  it.live.each(faults)("$name", ({ behave, flags = [], found = "FAIL", named }) =>
    Effect.gen(function* () {
      // Adds R-ACK-02, which passes, because a run in which nothing passes is inconclusive.
      const only = found === "WARN" ? [...named, "R-ACK-02"] : named
      const { exitCode, output, report } = yield* run(behave, "--seed", "11", "--only", only.join(","), ...flags)
      assert.deepStrictEqual(idsWith(report, found), named, output)
      assert.strictEqual(exitCode, found === "FAIL" ? 1 : 0)
      assert.strictEqual(report?.verdict, found === "FAIL" ? "fail" : "pass")
    })
  )

  it.live("redirects to a page that answers 200, which the suite never requests", () =>
    Effect.gen(function* () {
      const redirecting: Behaviour = ({ path }, response) => {
        if (path !== "/hook") return answer(response, 200)
        return response.writeHead(302, { location: "/elsewhere" }).end()
      }
      const { exitCode, report, target } = yield* run(redirecting, "--only", "R-ACK-*")
      assert.include(idsWith(report, "FAIL"), "R-ACK-02")
      assert.strictEqual(exitCode, 1)
      assert.deepStrictEqual([...new Set(target.received.map(({ path }) => path))], ["/hook"])
      assert.include(
        report?.requirements.find(({ id }) => id === "R-ACK-02")?.observed,
        "302",
        "the report says what came back"
      )
    })
  )

  it.live("an answer that is late once, but not in a repeat, is not a failure", () =>
    Effect.gen(function* () {
      const { exitCode, report } = yield* run(
        ({ index }, response) => (index === 1 ? undefined : response.end("ok")),
        "--deadline",
        "1s",
        "--only",
        "R-ACK-*"
      )
      assert.deepStrictEqual(idsWith(report, "FAIL"), [])
      assert.include(idsWith(report, "INCONCLUSIVE"), "R-ACK-03")
      assert.strictEqual(exitCode, 2)
    })
  )

  it.live("a receiver that acknowledges nothing gets few requests", () =>
    Effect.gen(function* () {
      const [silent, endless] = yield* Effect.all(
        [run(() => undefined, ...shortest), run((_, response) => void response.writeHead(200).write("o"), ...shortest)],
        { concurrency: 2 }
      )
      assert.includeMembers([...idsWith(silent.report, "INCONCLUSIVE")], ["R-DUP-01", "R-FWD-01", "R-HTTP-09"])
      assert.isAtMost(silent.target.received.length, 60)
      assert.isAtMost(endless.target.received.length, 60)
    })
  )
})
