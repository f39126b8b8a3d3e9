/**
 * Runs a bundled receiver in its own process, so that it can be killed. Reads its settings from the environment, and
 * prints a line on standard output once it listens.
 */
import { startServer } from "./Base.ts"
import { rightReceivers } from "./Right.ts"
import { rows } from "./Rows.ts"

const { DATABASE = ":memory:", FAULT = "", PORT = "0", SECRET = "" } = process.env

const wrong = Object.values(rows).find((named) => FAULT in named)?.[FAULT]?.[1]
const change = wrong ?? rightReceivers.find(({ name }) => name === FAULT)?.change
if (FAULT !== "" && change === undefined) {
  process.stderr.write(`FAULT=${FAULT}: there is no such receiver; leave FAULT empty for the correct one\n`)
  process.exitCode = 3
} else {
  // No top-level `await`, because the single-file suite is a CommonJS module.
  startServer({
    port: Number(PORT),
    database: DATABASE,
    secret: SECRET === "" ? null : SECRET,
    change: change ?? (() => ({}))
  }).then(
    ({ port }) => process.stdout.write(`listening on ${port}\n`),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    }
  )
}
