/**
 * Looks host names up as the system does: hosts file, name servers and whatever else it is set up to ask.
 *
 * The system answers on a few threads that the whole process shares, and a name whose server is dead holds one for
 * seconds. So a name is looked up once at a time, however many ask: ten deliveries to one dead name take one thread. And
 * names that are slow are together given half of those threads: a hundred dead names leave the other half to all others.
 */
import { RecentMap } from "@doorhook/core"
import { lookup } from "node:dns/promises"

/** Every address of a name, IPv4 and IPv6, in the order they should be tried. Rejects when it has none. */
export type NameLookup = (name: string) => Promise<ReadonlyArray<string>>

/** Asks once for all who ask for the same name at the same time. */
export const sharing = (ask: NameLookup): NameLookup => {
  const open = new Map<string, Promise<ReadonlyArray<string>>>()
  return (name) => {
    const known = open.get(name)
    if (known !== undefined) return known
    const asked = ask(name).finally(() => open.delete(name))
    open.set(name, asked)
    return asked
  }
}

/** A look-up that takes longer than this is that of a name whose servers are dead, or far away; in milliseconds. */
const longLookUp = 1_000

/** How many names that took long are remembered. */
const mostKnown = 10_000

/**
 * How a name's last look-up went that took long: it was answered, which one lost packet explains; or it was not, or not
 * soon for the second time.
 */
type Slowness = "late" | "slow"

/**
 * Asks for so many names at once that are slow, or whose present look-up takes long, and for all others at once. Those
 * that are too many wait for their turn.
 */
export const rationing = (ask: NameLookup, places: number): NameLookup => {
  const known = new RecentMap<string, Slowness>(mostKnown)
  const waiting: Array<() => void> = []
  let taken = 0

  const look = async (name: string): Promise<ReadonlyArray<string>> => {
    const before = known.get(name)
    let isCounted = before === "slow"
    let tookLong = false
    if (isCounted) taken++
    const timer = setTimeout(() => {
      tookLong = true
      known.set(name, "slow")
      if (!isCounted) taken++
      isCounted = true
    }, longLookUp)
    timer.unref()
    try {
      const addresses = await ask(name)
      if (tookLong && before === undefined) known.set(name, "late")
      return addresses
    } finally {
      clearTimeout(timer)
      if (!tookLong) known.delete(name)
      if (isCounted) taken--
      // One that was not counted before may have taken a place beyond those there are.
      if (taken < places) waiting.shift()?.()
    }
  }

  return (name) =>
    known.get(name) !== "slow" || taken < places
      ? look(name)
      : new Promise((resolve) => waiting.push(() => resolve(look(name))))
}

/** How many threads Node has for look-ups and for files: what it is told before they are first used. */
const threads = Number(process.env["UV_THREADPOOL_SIZE"] ?? 4) || 4

/** How many of them look names up: no more than half, so that files are not held up (libuv's rule for slow work). */
const lookUps = Math.ceil(threads / 2)

/** The system's resolver. */
export const system: NameLookup = sharing(
  rationing(
    async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
    Math.max(1, Math.floor(lookUps / 2))
  )
)
