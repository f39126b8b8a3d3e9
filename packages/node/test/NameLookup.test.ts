/**
 * Concurrent and waiting lookups of names, with name servers that answer on command.
 */
import { assert, describe, it } from "@effect/vitest"
import { NameLookup } from "@doorhook/node"
import fc from "fast-check"
import { afterEach, beforeEach, vi } from "vitest"

const here = ["192.0.2.1"]

/** Name servers that answer or fail for a name on command. */
const makeServers = (places: NameLookup.Places) => {
  const asked: Array<string> = []
  const open = new Map<string, PromiseWithResolvers<ReadonlyArray<string>>>()
  const lookup = NameLookup.sharing((name) => {
    assert.isFalse(open.has(name), `${name} is looked up once at a time`)
    asked.push(name)
    const one = Promise.withResolvers<ReadonlyArray<string>>()
    open.set(name, one)
    return one.promise
  }, places)
  const end = async (name: string, how: (one: PromiseWithResolvers<ReadonlyArray<string>>) => void) => {
    const one = open.get(name)
    assert.isDefined(one, `${name} is being looked up`)
    if (one === undefined) return
    open.delete(name)
    how(one)
    await vi.advanceTimersByTimeAsync(0)
  }
  return {
    /** Names with a lookup in progress. */
    open: () => [...open.keys()],
    /** Returns the names whose lookup has begun since the last call. */
    begun: () => asked.splice(0),
    look: (name: string, client = "client", asker: Partial<NameLookup.Asker> = {}) => {
      const answer = lookup(name, { client, ...asker })
      answer.catch(() => undefined)
      return answer
    },
    answer: (name: string) => end(name, ({ resolve }) => resolve(here)),
    fail: (name: string) => end(name, ({ reject }) => reject(new Error(`${name} has no address`)))
  }
}

/** Default size of the thread pool in an embedding host, and its size in doorhook's commands. */
const pools = [4, 64]

const dead = (count: number, of = "dead"): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => `${of}${n}.example`)

describe("lookups of names", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each(pools)("of one client leave places for all others, with %i threads", async (threads) => {
    const servers = makeServers(NameLookup.placesOf(threads))
    const names = dead(50)
    for (const name of names) void servers.look(name, "slow client")
    const begun = servers.begun()
    assert.isAtMost(begun.length, Math.max(1, threads / 8))
    await vi.advanceTimersByTimeAsync(8_000)
    for (const name of ["a.example", "b.example", "c.example"]) {
      const looking = servers.look(name, "other client")
      assert.deepStrictEqual(servers.begun(), [name], "at once")
      await servers.answer(name)
      assert.deepStrictEqual(await looking, here)
    }
    assert.deepStrictEqual(servers.open(), begun, "none of the slow ones has been answered yet")
  })

  it("never exceed their places, whatever the clients, names and answers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 2, 4, 8, 64),
        fc.array(
          fc.oneof(
            fc.record({ ask: fc.nat(30), client: fc.nat(3) }),
            fc.record({ end: fc.nat(30), fails: fc.boolean() }),
            fc.record({ pass: fc.constantFrom(10, 1_001, 60_001) })
          ),
          { maxLength: 200 }
        ),
        async (threads, steps) => {
          const places = NameLookup.placesOf(threads)
          const servers = makeServers(places)
          const asking = new Map<string, Promise<unknown>>()
          for (const step of steps) {
            if ("ask" in step) {
              const name = `${step.ask}.client${step.client}`
              asking.set(name, servers.look(name, String(step.client)))
            } else if ("end" in step) {
              const open = servers.open()
              const name = open[step.end % open.length]
              if (name !== undefined) await (step.fails ? servers.fail(name) : servers.answer(name))
            } else await vi.advanceTimersByTimeAsync(step.pass)
            const open = servers.open()
            assert.isAtMost(open.length, places.total)
            for (let client = 0; client <= 3; client++) {
              const own = open.filter((name) => name.endsWith(`client${client}`))
              assert.isAtMost(own.length, places.perClient)
            }
          }
          // Every waiting lookup must get its turn.
          for (let name = servers.open()[0]; name !== undefined; name = servers.open()[0]) await servers.answer(name)
          await Promise.allSettled(asking.values())
        }
      ),
      { numRuns: 60 }
    )
  })

  it("of clients without slow names go first when a place becomes free", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    for (const client of ["a", "b"]) for (const name of dead(10, client)) void servers.look(name, client)
    assert.deepStrictEqual(servers.begun(), ["a0.example", "b0.example"])
    await vi.advanceTimersByTimeAsync(2_000)
    const waiting = vi.fn<() => void>()
    const looking = ["c.example", "d.example"].map((name) => servers.look(name, name, { onWait: waiting }))
    assert.strictEqual(waiting.mock.calls.length, 2)
    await servers.answer("a0.example")
    assert.deepStrictEqual(servers.begun(), ["c.example"])
    await servers.answer("c.example")
    assert.deepStrictEqual(servers.begun(), ["d.example"])
    await servers.answer("d.example")
    assert.deepStrictEqual(await Promise.all(looking), [here, here])
    assert.deepStrictEqual(servers.begun(), ["a1.example"], "then clients take turns")
    await servers.answer("a1.example")
    assert.deepStrictEqual(servers.begun(), ["a2.example"], "the other one has all it may have")
  })

  it("share one answer between all concurrent callers of a name, across clients", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    const looking = ["a", "b", "a"].map((client) => servers.look("shared.example", client))
    assert.deepStrictEqual(servers.begun(), ["shared.example"])
    await servers.answer("shared.example")
    assert.deepStrictEqual(await Promise.all(looking), [here, here, here])
    void servers.look("shared.example")
    assert.deepStrictEqual(servers.begun(), ["shared.example"], "and are made again for the next one")
  })

  it("don't wait in another client's queue for a shared name", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    for (const name of [...dead(10), "shared.example"]) void servers.look(name, "slow client")
    void servers.look("shared.example", "other client")
    assert.deepStrictEqual(servers.begun(), ["dead0.example", "shared.example"])
  })

  it("use a recent answer instead of waiting, and look up the name in the background", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    const good = servers.look("good.example")
    await servers.answer("good.example")
    await good
    const bad = servers.look("bad.example")
    await servers.fail("bad.example")
    await bad.catch(() => undefined)
    void servers.look("dead.example")
    servers.begun()
    const onWait = vi.fn<() => void>()
    assert.deepStrictEqual(await servers.look("good.example", "client", { onWait }), here)
    const reason = await servers.look("bad.example", "client", { onWait }).catch(String)
    assert.strictEqual(reason, "Error: bad.example has no address")
    await vi.advanceTimersByTimeAsync(31_000)
    void servers.look("bad.example", "client", { onWait })
    assert.strictEqual(onWait.mock.calls.length, 1, "a failure may be over")
    await servers.answer("dead.example")
    assert.deepStrictEqual(servers.begun(), ["good.example"])
    await servers.answer("good.example")
    assert.deepStrictEqual(servers.begun(), ["bad.example"])
  })

  it("use an earlier answer instead of waiting if the last lookup failed", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    const good = servers.look("good.example")
    await servers.answer("good.example")
    await good
    const failed = servers.look("good.example")
    await servers.fail("good.example")
    assert.strictEqual(await failed.catch(String), "Error: good.example has no address")
    void servers.look("dead.example")
    assert.deepStrictEqual(await servers.look("good.example"), here)
    await vi.advanceTimersByTimeAsync(3_600_001)
    const onWait = vi.fn<() => void>()
    void servers.look("good.example", "client", { onWait })
    assert.strictEqual(onWait.mock.calls.length, 1, "the answer is too old, whatever failed since")
  })

  it.each([
    { threads: 4, clients: 2 },
    { threads: 8, clients: 4 },
    { threads: 64, clients: 4 }
  ])("wait for others only if $clients clients have slow ones, with $threads threads", async ({ clients, threads }) => {
    const servers = makeServers(NameLookup.placesOf(threads))
    for (let n = 1; n < clients; n++) for (const name of dead(50, `${n}-`)) void servers.look(name, `client ${n}`)
    servers.begun()
    await vi.advanceTimersByTimeAsync(8_000)
    void servers.look("new.example", "newcomer")
    assert.deepStrictEqual(servers.begun(), ["new.example"], "at once")
    for (const name of dead(50)) void servers.look(name, "one more")
    await servers.answer("new.example")
    servers.begun()
    void servers.look("newer.example", "newcomer")
    assert.deepStrictEqual(servers.begun(), [])
    const [first = ""] = servers.open()
    await servers.answer(first)
    assert.deepStrictEqual(servers.begun(), ["newer.example"], "before other names of clients with slow ones")
  })

  it("cancelled before they got a place are not made, unless another caller waits for them", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    void servers.look("dead.example")
    const gone = new AbortController()
    for (const name of ["unwanted.example", "wanted.example", "wanted too.example"])
      void servers.look(name, "client", { signal: gone.signal })
    void servers.look("wanted.example")
    void servers.look("wanted too.example", "client", { signal: new AbortController().signal })
    gone.abort()
    await servers.answer("dead.example")
    await servers.answer("wanted.example")
    assert.deepStrictEqual(servers.begun(), ["dead.example", "wanted.example", "wanted too.example"])
  })

  it("of one client wait in a bounded queue", async () => {
    const servers = makeServers(NameLookup.placesOf(4))
    const onWait = vi.fn<() => void>()
    for (const name of dead(1 + NameLookup.mostWaiting)) void servers.look(name, "client", { onWait })
    assert.strictEqual(onWait.mock.calls.length, NameLookup.mostWaiting)
    const refused = await servers.look("one more.example").catch((error: unknown) => error)
    assert.instanceOf(refused, NameLookup.QueueFull)
    void servers.look("other.example", "other client")
    assert.include(servers.begun(), "other.example")
  })
})

describe("slow names", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const places = { total: 8, perClient: 4, slow: 2 }

  /** Looks up names of different clients this many times, each time with late answers. */
  const afterLongLookUps = async (times: number) => {
    const servers = makeServers(places)
    const names = dead(4)
    // Earlier answers are too old to be used, so each lookup runs again.
    const lookAll = () => names.map((name) => servers.look(name, name))
    for (let time = 0; time < times; time++) {
      const looking = lookAll()
      await vi.advanceTimersByTimeAsync(1_001)
      assert.deepStrictEqual(servers.begun(), names, "nothing was held against them")
      for (const name of names) await servers.answer(name)
      await Promise.all(looking)
      await vi.advanceTimersByTimeAsync(3_600_001)
    }
    return { ...servers, names, lookAll }
  }

  it("don't count as slow after a single late answer, as after a lost packet", async () => {
    const { answer, begun, lookAll, names } = await afterLongLookUps(1)
    const looking = lookAll()
    assert.deepStrictEqual(begun(), names)
    for (const name of names) await answer(name)
    await Promise.all(looking)
    // The names are answered late again, but not twice in a row.
    const again = lookAll()
    begun()
    await vi.advanceTimersByTimeAsync(1_001)
    for (const name of names) await answer(name)
    await Promise.all(again)
    void lookAll()
    assert.deepStrictEqual(begun(), names)
  })

  it("share part of the places, and take turns", async () => {
    const { answer, begun, look, lookAll, names } = await afterLongLookUps(2)
    const looking = lookAll()
    assert.deepStrictEqual(begun(), names.slice(0, 2))
    void look("healthy.example")
    assert.deepStrictEqual(begun(), ["healthy.example"], "others wait for none of them")
    await answer("dead1.example")
    assert.deepStrictEqual(begun(), ["dead2.example"])
    await answer("dead0.example")
    assert.deepStrictEqual(begun(), ["dead3.example"])
    await answer("dead2.example")
    await answer("dead3.example")
    assert.deepStrictEqual(await Promise.all(looking), [here, here, here, here])
  })

  it("leave places for other names of their client", async () => {
    const servers = makeServers(places)
    const names = dead(4)
    for (const name of names) void servers.look(name)
    await vi.advanceTimersByTimeAsync(8_000)
    for (const name of names) await servers.fail(name)
    await vi.advanceTimersByTimeAsync(31_000)
    servers.begun()
    for (const name of names) void servers.look(name)
    assert.deepStrictEqual(servers.begun(), names.slice(0, 2))
    void servers.look("healthy.example")
    assert.deepStrictEqual(servers.begun(), ["healthy.example"])
  })

  it("do not wait once they are fast again", async () => {
    const { answer, begun, look } = await afterLongLookUps(2)
    const quick = look("dead0.example")
    await answer("dead0.example")
    await quick
    for (const name of ["dead1.example", "dead2.example", "dead0.example"]) void look(name, name)
    assert.deepStrictEqual(begun(), ["dead0.example", "dead1.example", "dead2.example", "dead0.example"])
  })
})
