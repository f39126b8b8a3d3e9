import { assert, describe, it } from "@effect/vitest"
import { DurationText, builtInTypes, RetryPolicy } from "@doorhook/core"
import fc from "fast-check"

const { problemOf, next, maxJitter, maxRetryAfter, parseRetryAfter } = RetryPolicy

const policies = fc.record({
  delays: fc.array(fc.integer({ min: 0, max: 86_400_000 }), { maxLength: 12 }),
  lifetime: fc.option(fc.integer({ min: 1, max: 300_000_000 }))
})
const inputs = fc.record({
  failed: fc.integer({ min: 1, max: 14 }),
  publishedAt: fc.constant(1_000_000_000),
  now: fc.integer({ min: 1_000_000_000, max: 1_400_000_000 }),
  random: fc.double({ min: 0, max: 0.999999, noNaN: true }),
  retryAfter: fc.option(fc.integer({ min: 0, max: 20_000_000 }))
})

describe("RetryPolicy", () => {
  it("retries no earlier than configured, and later only because of jitter or a Retry-After", () => {
    fc.assert(
      fc.property(policies, inputs, (policy, input) => {
        const decision = next(policy, input)
        const delay = policy.delays[input.failed - 1]
        if (decision._tag !== "RetryAt" || delay === undefined) return
        const asked = Math.min(input.retryAfter ?? 0, maxRetryAfter)
        const waited = decision.at - input.now
        assert.isAtLeast(waited, Math.max(delay, asked))
        assert.isAtMost(waited, Math.max(delay * (1 + maxJitter), asked))
      })
    )
  })

  it("makes exactly one retry for each delay of a policy without a lifetime", () => {
    fc.assert(
      fc.property(policies, inputs, ({ delays }, input) => {
        const decision = next({ delays, lifetime: null }, input)
        assert.strictEqual(decision._tag, input.failed <= delays.length ? "RetryAt" : "Exhausted")
      })
    )
  })

  it("never retries after the lifetime, and ends as expired, never as exhausted", () => {
    fc.assert(
      fc.property(policies, inputs, fc.integer({ min: 1, max: 1_000_000 }), ({ delays }, input, lifetime) => {
        const decision = next({ delays, lifetime }, input)
        assert.notStrictEqual(decision._tag, "Exhausted")
        if (decision._tag === "RetryAt") assert.isBelow(decision.at, input.publishedAt + lifetime)
      })
    )
  })

  it("spreads retries by random jitter", () => {
    const at = (random: number) =>
      next(builtInTypes.access_log.retry, { failed: 3, publishedAt: 0, now: 0, random, retryAfter: null })
    assert.deepStrictEqual(at(0), { _tag: "RetryAt", at: 120_000 })
    assert.deepStrictEqual(at(0.5), { _tag: "RetryAt", at: 132_000 })
  })

  it("limits a stored delay that is longer than allowed", () => {
    const policy = { delays: [99_999_999 * 86_400_000], lifetime: null }
    const decision = next(policy, { failed: 1, publishedAt: 0, now: 0, random: 0, retryAfter: null })
    assert.deepStrictEqual(decision, { _tag: "RetryAt", at: DurationText.longest })
  })

  it.each([
    [[], 45_000, null],
    [[44_999, 60_000], 45_000, null],
    [[60_000], null, null],
    [[45_000, 1_000], 45_000, 0],
    [[1_000, DurationText.longest + 1], null, 1],
    [[Number.NaN], null, 0],
    [[-1], null, 0]
  ])("of delays %j within a lifetime of %j, refuses number %j", (delays, lifetime, at) => {
    assert.strictEqual(problemOf({ delays, lifetime })?.at ?? null, at)
  })

  it("rings at most four times, within 45 seconds", () => {
    const policy = builtInTypes.call.retry
    const at = (failed: number, now: number) =>
      next(policy, { failed, publishedAt: 0, now, random: 0, retryAfter: null })
    assert.deepStrictEqual(at(1, 5_000), { _tag: "RetryAt", at: 6_000 })
    assert.deepStrictEqual(at(3, 16_000), { _tag: "RetryAt", at: 24_000 })
    assert.deepStrictEqual(at(4, 29_000), { _tag: "Expired" })
    assert.deepStrictEqual(at(3, 37_000), { _tag: "Expired" })
  })

  it("keeps trying to deliver an access log for about three days", () => {
    const total = builtInTypes.access_log.retry.delays.reduce((sum, delay) => sum + delay, 0)
    assert.isAbove(total, 2.5 * 86_400_000)
    assert.isBelow(total, 3.5 * 86_400_000)
  })

  it("reads any number of seconds, and limits the wait", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.nat({ max: 3 }), (seconds, zeros) => {
        const read = parseRetryAfter("0".repeat(zeros) + String(seconds), 0)
        assert.strictEqual(read, Math.min(Number(seconds) * 1_000, DurationText.longest))
        const policy = { delays: [1_000], lifetime: null }
        const decision = next(policy, { failed: 1, publishedAt: 0, now: 0, random: 0, retryAfter: read })
        assert.isTrue(decision._tag === "RetryAt" && decision.at <= maxRetryAfter)
      })
    )
  })

  it("reads the three date forms alike, whatever the time zone of the process", () => {
    const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    // A two-digit year is never read as more than fifty years ahead.
    const range = { min: Date.UTC(1980, 0, 1), max: Date.UTC(2070, 0, 1) }
    fc.assert(
      fc.property(fc.integer(range), fc.integer({ min: Date.UTC(2021, 0, 1), max: range.max }), (millis, now) => {
        const at = millis - (millis % 1_000)
        fc.pre(new Date(now).getUTCFullYear() - new Date(at).getUTCFullYear() < 49)
        const imf = new Date(at).toUTCString()
        const [day = "", date = "", month = "", year = "", time = ""] = imf.split(" ")
        const name = days[new Date(at).getUTCDay()] ?? ""
        const expected = parseRetryAfter(imf, now)
        assert.strictEqual(expected, Math.min(Math.max(0, at - now), DurationText.longest))
        assert.strictEqual(parseRetryAfter(`${name}, ${date}-${month}-${year.slice(2)} ${time} GMT`, now), expected)
        const asctime = `${day.slice(0, 3)} ${month} ${date.replace(/^0/, " ")} ${time} ${year}`
        assert.strictEqual(parseRetryAfter(asctime, now), expected)
      })
    )
  })

  it.each([
    ["120", 120_000],
    [" 5 ", 5_000],
    ["Thu, 01 Jan 1970 00:01:00 GMT", 50_000],
    ["Thu, 01 Jan 1970 00:00:01 GMT", 0],
    ["Thursday, 01-Jan-70 00:01:00 GMT", 50_000],
    ["Thu Jan  1 00:01:00 1970", 50_000],
    ["Sun Feb 30 00:01:00", null],
    ["Thu Xxx  1 00:01:00 1970", null],
    ["9".repeat(11), DurationText.longest],
    ["9".repeat(400), DurationText.longest],
    ["1e3", null],
    ["soon", null],
    ["-1", null],
    ["5 minutes", null],
    ["after Thu, 01 Jan 1970 00:01:00 GMT", null],
    ["", null],
    [null, null]
  ])("reads Retry-After %j as %j ms", (header, expected) => {
    assert.strictEqual(parseRetryAfter(header, 10_000), expected)
  })
})
