/**
 * Probes on awkward receivers and logs: wrong answers, long files, and unrelated text.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { unlinkSync, writeFileSync } from "node:fs"
import type { Socket } from "node:net"
import { logProbe, parseLog } from "../src/probes/LogProbe.ts"
import { execProbe, httpProbe, ProbeUnusable, readReading } from "../src/probes/Probe.ts"
import { answer, receiver } from "./support/receiver.ts"

const webhookId = "evt_0mgw7k2x0q8r5t3v9y1b4d6f8h0"
const subject = { webhookId, resourceType: "access_log", dataId: "123456789", endpoint: null }

describe("an address that is not a probe", () => {
  it.live("is refused with the request and the expected answer", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ path }, response) =>
        answer(response, path.includes("broken") ? 500 : path.includes("limited") ? 503 : 404)
      )
      const said = (path: string) =>
        Effect.map(Effect.flip(httpProbe(new URL(path, target.url)).read(subject)), ({ message }) => message)
      const missing = yield* said("/probe")
      assert.include(missing, `GET ${new URL("/probe", target.url).href}?id=${webhookId} was answered with 404.`)
      assert.include(missing, 'Expected: 200 and {"effects": n}')
      assert.include(missing, '{"effects": 0}, not 404, for an event that it does not know')
      const broken = yield* said("/broken?key=hush")
      assert.include(broken, `/broken?...&id=${webhookId} was answered with 500. Expected: 200`)
      assert.notInclude(broken, "not 404")
      assert.notInclude(broken, "hush")
      assert.include(yield* said("/limited"), "name the receiver's own address instead of the proxy's")
    })
  )
})

describe("an address that does not answer", () => {
  it.effect("is read once, and given up when the time is up", () =>
    Effect.gen(function* () {
      const asked = Promise.withResolvers<void>()
      const target = yield* receiver(() => asked.resolve())
      const reading = yield* Effect.forkScoped(Effect.flip(httpProbe(new URL("/probe", target.url)).read(subject)))
      yield* Effect.promise(() => asked.promise)
      yield* TestClock.adjust("10 seconds")
      const { message } = yield* Fiber.join(reading)
      assert.include(message, "did not answer within 10000 ms")
      assert.strictEqual(target.received.length, 1)
    })
  )
})

describe("an address that is read often", () => {
  it.live("is read over kept connections, and again if one of them was closed", () =>
    Effect.gen(function* () {
      const sockets = new Set<Socket>()
      const target = yield* receiver(({ index }, response, socket) => {
        sockets.add(socket)
        // Simulates a receiver that is ended during a request.
        if (index === 30) socket.resetAndDestroy()
        else answer(response, 200, '{"effects":1}')
      })
      const { concurrency, read } = httpProbe(new URL("/probe", target.url))
      const readings = yield* Effect.forEach(
        Array.from({ length: 60 }, () => subject),
        read,
        { concurrency }
      )
      assert.strictEqual(readings.filter(({ effects }) => effects === 1).length, 60)
      assert.strictEqual(target.received.length, 61)
      assert.isBelow(sockets.size, 60)
    })
  )

  it.live("has its connections closed afterwards, so that a receiver can serve one at a time", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<void>()
      const target = yield* receiver((_, response, socket) => {
        socket.on("close", closed.resolve)
        answer(response, 200, '{"effects":1}')
      })
      yield* httpProbe(new URL("/probe", target.url)).read(subject)
      yield* Effect.promise(() => closed.promise)
    })
  )
})

describe("a digest", () => {
  const hex = "9f2c".repeat(16)
  const read = (digest: string | null) =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 200, JSON.stringify({ effects: 1, digest })))
      return yield* httpProbe(new URL("/probe", target.url)).read(subject)
    })

  it.live("is the same in either case of its hex digits, and may be left out", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* read(`sha256:${hex}`)).digest, `sha256:${hex}`)
      assert.strictEqual((yield* read(`sha256:${hex.toUpperCase()}`)).digest, `sha256:${hex}`)
      assert.strictEqual((yield* read(`SHA256:${hex}`)).digest, `sha256:${hex}`)
      assert.isNull((yield* read(null)).digest)
    })
  )

  it.live("makes the probe unusable if it is malformed", () =>
    Effect.gen(function* () {
      for (const wrong of ["", hex, `sha256:${hex}0`, `sha256:${hex.slice(1)}`, `sha512:${hex}`, "sha256:n/a"]) {
        const { _tag, message } = yield* Effect.flip(read(wrong))
        assert.strictEqual(_tag, "ProbeUnusable", wrong)
        assert.include(message, `answered digest: "${wrong}", a text; give sha256: and 64 hex digits`)
      }
    })
  )
})

describe("a number of effects", () => {
  const said = (given: unknown) =>
    Effect.map(
      Effect.flip(readReading(given, (what) => new ProbeUnusable({ message: `gave ${what}` }))),
      ({ message }) => message
    )

  it.live("comes with the stored data, with all digits", () =>
    Effect.gen(function* () {
      const body = '{"effects":1,"data":{"reading":-12345678901234567890.12345678901234567890e-3,"name":"7"}}'
      const target = yield* receiver((_, response) => response.end(body))
      const { data } = yield* httpProbe(new URL("/probe", target.url)).read(subject)
      assert.strictEqual(data, '{"reading":-12345678901234567890.12345678901234567890e-3,"name":"7"}')
    })
  )

  it.effect("must be whole; anything else is quoted in the error", () =>
    Effect.gen(function* () {
      for (const [effects, shown] of [
        ["0", '"0", a text'],
        [0n, "0n, a bigint"],
        [1.5, "1.5"],
        [-1, "-1"],
        [Number.NaN, "NaN"],
        [[0n], "an object"],
        [null, "null"],
        [undefined, "undefined"]
      ] as const) {
        assert.strictEqual(yield* said({ effects }), `gave effects: ${shown}; give a whole number, 0 or more`)
      }
      for (const nothing of [undefined, null, 0, "0"]) {
        assert.strictEqual(yield* said(nothing), "gave effects: undefined; give a whole number, 0 or more")
      }
      assert.match(yield* said({ effects: 0, digest: 7 }), /^gave digest: 7; give sha256: /)
      const unusable = (message: string) => new ProbeUnusable({ message })
      assert.deepStrictEqual(yield* readReading({ effects: 2 }, unusable), { effects: 2, digest: null, data: null })
    })
  )

  it.live("must be whole over HTTP as well", () =>
    Effect.gen(function* () {
      for (const [answered, told] of [
        ['{"effects":"0"}', 'answered effects: "0", a text; give a whole number'],
        ["none", 'answered "none". It must answer GET']
      ] as const) {
        const target = yield* receiver((_, response) => answer(response, 200, answered))
        const { message } = yield* Effect.flip(httpProbe(new URL("/probe", target.url)).read(subject))
        assert.include(message, told)
      }
    })
  )
})

describe("a command", () => {
  const ask = (command: string) => execProbe(command).read(subject)
  const said = (command: string) => Effect.map(Effect.flip(ask(command)), ({ message }) => message)

  it.live("that prints only a number is accepted, whatever its exit code", () =>
    Effect.gen(function* () {
      const file = `${yield* temporaryFolder}/effects.log`
      writeFileSync(file, "done evt_other\n")
      assert.strictEqual((yield* ask(`grep -cw "done $EVENT_ID" ${file}`)).effects, 0)
      assert.strictEqual((yield* ask("echo 2; exit 3")).effects, 2)
      assert.strictEqual((yield* ask("echo 2; echo 'a warning' >&2")).effects, 2)
    }).pipe(Effect.scoped)
  )

  it.live("that fails is reported with its exit code, its output and advice", () =>
    Effect.gen(function* () {
      assert.match(
        yield* said("echo 0; echo 'no such table' >&2; exit 4"),
        /^The probe command ended with 4 and printed "0", with "no such table" on standard error: .* 2>\/dev\/null\.$/
      )
      assert.match(
        yield* said("grep done /no/such/file"),
        /ended with 2 and printed nothing, with "grep: .*" on standard error.* add: \|\| echo 0\.$/
      )
      assert.match(yield* said("echo two; exit 1"), /ended with 1 and printed "two": .* with EVENT_ID set to see why/)
      assert.match(yield* said("no-such-program"), /ended with 127 .* Does the program exist, and is it executable\?$/)
      assert.match(yield* said("echo 7; kill -9 $$"), /did not exit normally and printed "7"/)
      assert.match(yield* said("echo many"), /^The probe command printed "many": echo many\. It gets EVENT_ID/)
    })
  )
})

describe("a log", () => {
  it.effect("may be long, and is read on from the last position", () =>
    Effect.gen(function* () {
      const file = `${yield* temporaryFolder}/effects.log`
      const pattern = /^done (?<id>\S+)$/gu
      const noise = `${"x".repeat(99)}\n`.repeat(15_000)
      writeFileSync(file, `${noise}done ${webhookId}\n${noise}done ${webhookId}\ndone evt_half`)
      const probe = logProbe(file, pattern)
      assert.strictEqual((yield* probe.read(subject)).effects, 2)
      writeFileSync(file, `\ndone ${subject.dataId}\ndone ${webhookId}\n`, { flag: "a" })
      assert.strictEqual((yield* probe.read(subject)).effects, 3)
    }).pipe(Effect.scoped)
  )

  it.effect("may be created at the first effect, in an existing folder", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const probeOf = (file: string) => logProbe(file, /^done (?<id>\S+)$/gu)
      const file = `${folder}/effects.log`
      const probe = probeOf(file)
      assert.strictEqual((yield* probe.read(subject)).effects, 0)
      writeFileSync(file, `done ${webhookId}\n`)
      assert.strictEqual((yield* probe.read(subject)).effects, 1)
      const { message } = yield* Effect.flip(probeOf(`${folder}/none/effects.log`).read(subject))
      assert.match(message, /^The log \S+ can't be read: /)
    }).pipe(Effect.scoped)
  )

  it.effect("makes the probe unusable if it is overwritten", () =>
    Effect.gen(function* () {
      const file = `${yield* temporaryFolder}/effects.log`
      const begin = Effect.gen(function* () {
        writeFileSync(file, `done evt_1\ndone ${webhookId}\n`)
        const probe = logProbe(file, /^done (?<id>\S+)$/gu)
        assert.strictEqual((yield* probe.read(subject)).effects, 1)
        return probe
      })
      const ways: ReadonlyArray<readonly [string, () => void]> = [
        ["shorter", () => writeFileSync(file, "done evt_2\n")],
        ["longer than before", () => writeFileSync(file, `done evt_2\ndone ${webhookId}\n`.repeat(9))],
        ["deleted", () => unlinkSync(file)]
      ]
      for (const [name, change] of ways) {
        const probe = yield* begin
        change()
        const { message } = yield* Effect.flip(probe.read(subject))
        assert.match(message, /^The log \S+ was overwritten during the run.* append to it \(>> instead of >\)/, name)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("may have colons in its name or in its expression", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeFileSync(`${folder}/a:b.log`, "")
      const read = (text: string) => Result.map(parseLog(text), ({ file, pattern }) => [file, pattern.source])
      const readAs = (text: string, ...expected: ReadonlyArray<string>) =>
        assert.deepStrictEqual(read(text), Result.succeed([...expected]), text)
      readAs(`${folder}/a:b.log:id=(\\S+)`, `${folder}/a:b.log`, "id=(\\S+)")
      readAs(`${folder}/none.log:(?:id): (\\S+)`, `${folder}/none.log`, "(?:id): (\\S+)")
      readAs("C:\\logs\\a.log:id (\\d+)", "C:\\logs\\a.log", "id (\\d+)")
      readAs("a(:b):(c)", "a(:b)", "(c)")
      for (const wrong of ["a.log", "a.log:", ":(id)", "a.log:(id"]) {
        assert.isTrue(Result.isFailure(parseLog(wrong)), wrong)
      }
    }).pipe(Effect.scoped)
  )
})
