/**
 * Looks host names up as the system does: hosts file, name servers and whatever else it is set up to ask.
 *
 * The system answers on a few threads that the whole process shares, and a name whose server is dead holds one for
 * seconds. So a name is looked up once at a time, however many ask: ten deliveries to one dead name take one thread.
 */
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

/** The system's resolver. */
export const system: NameLookup = sharing(async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address)
)
