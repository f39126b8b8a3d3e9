/**
 * A bundled receiver as a process of its own, so that it can be killed. Settings come from the environment; a line on standard
 * output says that it listens.
 */
import { startServer } from "./Base.ts"
import { rightReceivers } from "./Right.ts"
import { rows } from "./Rows.ts"

const { DATABASE = ":memory:", FAULT = "", PORT = "0", SECRET = "" } = process.env

const wrong = Object.values(rows).find((named) => FAULT in named)?.[FAULT]?.[1]
const change = wrong ?? rightReceivers.find(({ name }) => name === FAULT)?.change
if (FAULT !== "" && change === undefined) {
  process.stderr.write(`FAULT=${FAULT}: there is no such receiver; leave it empty for the plain one\n`)
  process.exitCode = 3
} else {
  // No `await` here: the one file is a CommonJS module.
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
