import { assert, describe, it } from "@effect/vitest"
import { NameLookup } from "@doorhook/node"
import { afterEach, beforeEach, vi } from "vitest"

/** Name servers that answer for a name when told to. */
const makeServers = () => {
  const asked: Array<string> = []
  const open = new Map<string, () => void>()
  const ask: NameLookup.NameLookup = (name) => {
    asked.push(name)
    return new Promise((resolve) => open.set(name, () => resolve(["192.0.2.1"])))
  }
  return { asked, ask, answer: (name: string) => open.get(name)?.() }
}

const dead = ["a.dead", "b.dead", "c.dead", "d.dead"]

describe("names that take long", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** All of these have been answered late, as often as it says. */
  const afterLongLookUps = async (places: number, times: number) => {
    const servers = makeServers()
    const look = NameLookup.rationing(servers.ask, places)
    for (let time = 0; time < times; time++) {
      const looking = dead.map(look)
      await vi.advanceTimersByTimeAsync(1_001)
      assert.deepStrictEqual(servers.asked.splice(0), dead, "nothing was held against them")
      dead.forEach(servers.answer)
      await Promise.all(looking)
    }
    return { ...servers, look }
  }

  it("are not taken for slow when they were answered late but once, as after a lost packet", async () => {
    const { answer, asked, look } = await afterLongLookUps(1, 1)
    const looking = dead.map(look)
    assert.deepStrictEqual(asked.splice(0), dead)
    dead.forEach(answer)
    await Promise.all(looking)
    // Late again, but not twice in a row.
    const again = dead.map(look)
    await vi.advanceTimersByTimeAsync(1_001)
    dead.forEach(answer)
    await Promise.all(again)
    asked.length = 0
    void dead.map(look)
    assert.deepStrictEqual(asked, dead)
  })

  it("have so many look-ups at once together, and take turns", async () => {
    const { answer, asked, look } = await afterLongLookUps(2, 2)
    const looking = dead.map(look)
    assert.deepStrictEqual(asked, ["a.dead", "b.dead"])
    void look("healthy")
    assert.deepStrictEqual(asked, ["a.dead", "b.dead", "healthy"], "others wait for none of them")
    answer("b.dead")
    await looking[1]
    assert.deepStrictEqual(asked.slice(3), ["c.dead"])
    answer("a.dead")
    answer("c.dead")
    await Promise.all([looking[0], looking[2]])
    assert.deepStrictEqual(asked.slice(4), ["d.dead"])
    answer("d.dead")
    assert.deepStrictEqual(await looking[3], ["192.0.2.1"])
  })

  it("wait for nobody once they were quick again", async () => {
    const { answer, asked, look } = await afterLongLookUps(1, 2)
    const quick = look("a.dead")
    answer("a.dead")
    await quick
    void look("b.dead")
    void look("a.dead")
    assert.deepStrictEqual(asked, ["a.dead", "b.dead", "a.dead"])
  })

  it("give up their places when they fail", async () => {
    const asked: Array<string> = []
    const look = NameLookup.rationing(
      (name) =>
        new Promise((_, reject) => {
          asked.push(name)
          setTimeout(() => reject(new Error("no answer")), 10_000)
        }),
      1
    )
    for (const atOnce of [dead.length, 1]) {
      const looking = Promise.allSettled(dead.map(look))
      assert.lengthOf(asked.splice(0), atOnce)
      await vi.advanceTimersByTimeAsync(40_000)
      assert.isTrue((await looking).every(({ status }) => status === "rejected"))
    }
    assert.deepStrictEqual(asked, dead.slice(1))
  })
})
