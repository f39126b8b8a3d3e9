/**
 * A bundled receiver in this process: an HTTP server like any other, but nothing that could be killed.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { openLedger } from "./Ledger.ts"
import { startServer } from "./Server.ts"
import type { Change } from "./Server.ts"

export interface InProcessOptions {
  readonly change: Change
  readonly secret: string | null
  /** Milliseconds. */
  readonly deadline: number
}

/** Its address, for as long as the scope lives. */
export const inProcess = ({ change, deadline, secret }: InProcessOptions): Effect.Effect<URL, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const ledger = openLedger(":memory:")
      const server = await startServer({ port: 0, ledger, secret, deadline, change })
      return { ledger, server }
    }),
    ({ ledger, server }) => Effect.promise(() => server.die().finally(() => ledger.close()))
  ).pipe(Effect.map(({ server }) => new URL(`http://127.0.0.1:${server.port}`)))
