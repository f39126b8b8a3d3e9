import { assert, describe, it } from "@effect/vitest"
import { UserId } from "@doorhook/core"
import { Outages } from "../../src/services/dispatch/Outages.ts"

const anna = UserId.make("anna")
const bert = UserId.make("bert")
const carl = UserId.make("carl")

describe("an outage", () => {
  it("begins with the first that can't go, and pauses everything for five seconds at a time", () => {
    const outages = new Outages()
    assert.strictEqual(outages.failed("directory", anna, 1_000), "begins")
    assert.strictEqual(outages.failed("directory", bert, 1_500), "lasts", "was under way")
    assert.strictEqual(outages.pausedUntil(1_500), 6_000)
    assert.strictEqual(outages.dueAt(carl, 1_510), 6_000)
    assert.strictEqual(outages.dueAt(anna, 1_510), 6_100, "after the others")
    assert.isNull(outages.pausedUntil(6_000))
    outages.beginTry(6_000)
    assert.strictEqual(outages.pausedUntil(6_100), Number.POSITIVE_INFINITY, "one at a time")
    assert.strictEqual(outages.failed("directory", anna, 9_000), "lasts")
    outages.endTry()
    assert.strictEqual(outages.pausedUntil(9_000), 14_000)
  })

  it("pauses no longer when the clock is set back", () => {
    const outages = new Outages()
    outages.failed("egress", anna, 3_600_000)
    assert.strictEqual(outages.pausedUntil(1_000), 6_000)
    assert.isNull(outages.pausedUntil(6_000))
  })

  it("ends with the first that gets through, and another cause lasts", () => {
    const outages = new Outages()
    outages.failed("directory", anna, 0)
    outages.failed("egress", bert, 1_000)
    assert.deepStrictEqual(outages.longest, { cause: "directory", since: 0 })
    assert.strictEqual(outages.passed("directory", bert, 7_000), 7_000)
    assert.isTrue(outages.isOpen)
    assert.deepStrictEqual(outages.longest, { cause: "egress", since: 1_000 })
    assert.strictEqual(outages.passed("egress", bert, 7_000), 6_000)
    assert.isFalse(outages.isOpen)
    assert.isNull(outages.passed("egress", bert, 8_000))
    assert.isNull(outages.pausedUntil(8_000))
  })

  it("is tried without a pause with users who have not failed, three at most, and then with all again", () => {
    const outages = new Outages()
    outages.failed("directory", anna, 0)
    assert.isTrue(outages.mustWait(anna, 100))
    for (const user of [bert, carl, UserId.make("dora")]) {
      assert.isFalse(outages.mustWait(user, 100))
      outages.beginTry(100)
      assert.strictEqual(outages.failed("directory", user, 5_100), "lasts")
      outages.endTry()
      assert.isTrue(outages.mustWait(user, 5_100))
    }
    assert.isTrue(outages.mustWait(UserId.make("emil"), 5_100), "too many")
    assert.isFalse(outages.mustWait(UserId.make("emil"), 10_100), "after the pause")
    assert.isTrue(outages.mustWait(anna, 10_100), "others come first")
    outages.beginRound()
    assert.isFalse(outages.mustWait(anna, 10_100))
    outages.beginTry(10_100)
    outages.failed("directory", anna, 10_200)
    outages.endTry()
    assert.isFalse(outages.mustWait(bert, 10_200), "a new round")
  })

  it("is tried with nobody before the pause is over where there is no way out", () => {
    const outages = new Outages()
    outages.failed("egress", anna, 0)
    assert.isTrue(outages.mustWait(bert, 0))
    assert.isFalse(outages.mustWait(anna, 5_000))
  })

  it("is none when the directory has just answered about another user, unless it fails about a third", () => {
    const outages = new Outages()
    outages.passed("directory", bert, 0)
    assert.strictEqual(outages.failed("directory", anna, 0), "known", "may be the first of all")
    assert.isFalse(outages.isOpen)
    assert.strictEqual(outages.failed("directory", carl, 1), "begins")
    const alone = new Outages()
    alone.passed("directory", bert, 0)
    alone.failed("directory", anna, 0)
    assert.strictEqual(alone.failed("directory", anna, 5_000), "begins", "about nobody since")
  })

  it("is none when the directory answers about others: that user's deliveries wait, and it is told once", () => {
    const outages = new Outages()
    outages.failed("directory", anna, 0)
    outages.passed("directory", bert, 5_000)
    assert.strictEqual(outages.failed("directory", anna, 5_000), "own")
    assert.strictEqual(outages.failed("directory", anna, 10_000), "known")
    assert.isFalse(outages.isOpen)
    assert.strictEqual(outages.dueAt(anna, 10_000), 15_000)
    outages.passed("directory", anna, 15_000)
    assert.strictEqual(outages.failed("directory", anna, 20_000), "begins", "it was answered in between")
  })

  it("is none either when the directory answers about others than two users, who fail one after the other", () => {
    const outages = new Outages()
    outages.failed("directory", anna, 0)
    outages.failed("directory", carl, 1)
    outages.passed("directory", bert, 2)
    assert.strictEqual(outages.failed("directory", anna, 5_002), "own")
    assert.strictEqual(outages.failed("directory", carl, 5_003), "own")
    assert.isFalse(outages.isOpen)
  })
})
