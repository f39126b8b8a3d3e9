/**
 * A minimal receiver on `node:http` in its own process, which reads each request and responds with 200.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"

const program = `
const { createServer } = require("node:http")
const delay = Number(process.argv[1] ?? 0)
createServer((request, response) => {
  request.resume()
  if (delay === Infinity) return
  request.on("end", () => (delay === 0 ? response.end() : setTimeout(() => response.end(), delay)))
}).listen(0, "127.0.0.1", function () { console.log(this.address().port) })
`

/** Starts a receiver that responds after `delay` milliseconds, or never (`Infinity`). Returns its port. */
export const startReceiver = (delay = 0): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, ["-e", program, String(delay)], { stdio: ["ignore", "pipe", "inherit"] })
      const [line]: ReadonlyArray<unknown> = await once(child.stdout, "data")
      return { child, port: Number(String(line)) }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        child.kill("SIGKILL")
        await once(child, "close")
      })
  ).pipe(Effect.map(({ port }) => port))
