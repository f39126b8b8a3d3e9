/**
 * Connections that lead to the wrong server are closed: when an error or a new connection shows it, and not before.
 */
import { assert, describe, it } from "@effect/vitest"
import { afterEach, beforeEach, vi } from "vitest"
import type { FoundServer, WatchedConnection } from "../../src/postgres/ServerWatch.ts"
import { ServerWatch } from "../../src/postgres/ServerWatch.ts"

const former: FoundServer = { identity: "former", readOnly: false }
const other: FoundServer = { identity: "other", readOnly: false }

/** A watch of the former server, and what it did. */
const watching = () => {
  const watch = new ServerWatch()
  const seen = { doubts: 0, retired: Array<string>(), destroyed: Array<string>() }
  watch.begin(former, () => void seen.doubts++)
  const open = (name: string, awaitedSince: number | null = null): WatchedConnection => {
    const connection: WatchedConnection = {
      openedAt: performance.now(),
      awaitedSince,
      retire: () => void seen.retired.push(name),
      destroy: () => void seen.destroyed.push(name)
    }
    watch.opened(connection)
    return connection
  }
  return { watch, seen, open }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe("a watch of a server's connections", () => {
  const aboutConnection: ReadonlyArray<readonly [string, string]> = [
    ["25006", "PreventCommandIfReadOnly"],
    ["57P01", "ProcessInterrupts"],
    ["57P03", ""],
    ["08006", ""],
    ["26000", ""],
    ["42P05", ""],
    ["0A000", "RevalidateCachedQuery"]
  ]
  for (const [state, routine] of aboutConnection) {
    it(`retires all connections after ${state} ${routine}`, () => {
      const { open, seen, watch } = watching()
      open("one")
      open("two")
      watch.reported(state, routine)
      assert.deepEqual([seen.retired, seen.doubts], [["one", "two"], 1])
    })
  }

  for (const [state, routine] of [
    ["23505", "_bt_check_unique"],
    ["40001", ""],
    ["57014", "ProcessInterrupts"],
    ["0A000", "transformOnConflictClause"]
  ] as const) {
    it(`keeps all connections after ${state} ${routine}`, () => {
      const { open, seen, watch } = watching()
      open("one")
      watch.reported(state, routine)
      assert.deepEqual([seen.retired, seen.doubts], [[], 0])
    })
  }

  it("retires connections once per second, however many errors they report", () => {
    const { open, seen, watch } = watching()
    open("one")
    for (let count = 0; count < 5; count++) watch.reported("57P01", "")
    vi.advanceTimersByTime(1_000)
    watch.reported("57P01", "")
    assert.deepEqual(seen.retired, ["one", "one"])
  })

  it("refuses changes after a server did, until a new connection finds one that accepts them", () => {
    const { open, seen, watch } = watching()
    open("one")
    watch.reported("25006", "")
    assert.isTrue(watch.refusesChanges)
    assert.isFalse(watch.found({ ...former, readOnly: true }, performance.now()))
    assert.isTrue(watch.refusesChanges)
    assert.isFalse(watch.found(former, performance.now()))
    assert.isFalse(watch.refusesChanges)
    assert.deepEqual(seen.retired, ["one", "one"], "by the error, and when the server accepts changes again")
  })

  it("retires connections to the former server, and keeps those that were opened after the check began", () => {
    const { open, seen, watch } = watching()
    open("before")
    const askedAt = performance.now()
    vi.advanceTimersByTime(10)
    open("after")
    assert.isTrue(watch.found(other, askedAt))
    assert.isFalse(watch.found(other, performance.now()))
    assert.deepEqual(seen.retired, ["before"])
  })

  it("ends a connection to the former server as soon as it has been silent for a second", () => {
    const { open, seen, watch } = watching()
    const askedAt = performance.now()
    open("silent", askedAt)
    open("idle")
    vi.advanceTimersByTime(900)
    watch.found(other, askedAt)
    assert.deepEqual(seen.destroyed, [])
    vi.advanceTimersByTime(600)
    assert.include(seen.destroyed, "silent")
    assert.notInclude(seen.destroyed, "idle")
  })

  it("doubts while a connection is silent or after one was lost, and not after one was closed", () => {
    const { open, seen, watch } = watching()
    const idle = open("idle")
    vi.advanceTimersByTime(5_000)
    watch.closed(idle, false)
    assert.strictEqual(seen.doubts, 0)
    watch.closed(open("lost"), true)
    assert.strictEqual(seen.doubts, 1)
    const silent = open("silent", performance.now())
    vi.advanceTimersByTime(1_000)
    assert.isAbove(seen.doubts, 1)
    watch.closed(silent, false)
    assert.strictEqual(vi.getTimerCount(), 0, "no timer without a connection")
  })
})
