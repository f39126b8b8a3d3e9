/**
 * Runs a receiver in its own process, so that it can be killed. Reads its settings from the environment, and prints a
 * line on standard output once it listens.
 */
import { startServer } from "./Base.ts"
import { rightReceivers } from "./Right.ts"
import { rows } from "./Wrong.ts"

const { DATABASE = ":memory:", FAULT = "", PORT = "0", SECRET = "" } = process.env

const wrong = Object.values(rows).find((named) => FAULT in named)?.[FAULT]?.[1]
const change = wrong ?? rightReceivers.find(({ name }) => name === FAULT)?.change
if (FAULT !== "" && change === undefined) {
  process.stderr.write(`FAULT=${FAULT}: there is no such receiver; leave FAULT empty for the correct one\n`)
  process.exitCode = 3
} else {
  const { port } = await startServer({
    port: Number(PORT),
    database: DATABASE,
    secret: SECRET === "" ? null : SECRET,
    change: change ?? (() => ({}))
  })
  process.stdout.write(`listening on ${port}\n`)
}
