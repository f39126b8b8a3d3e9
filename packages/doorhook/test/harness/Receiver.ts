/**
 * A receiver in the test's own process that keeps what it got.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

/** One request as it arrived. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly received: ReadonlyArray<Received>
  /** Resolves once the condition holds; it is looked at after each request. */
  readonly until: (condition: (received: ReadonlyArray<Received>) => boolean) => Promise<void>
}

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString("utf8")
}

/** Answers each request with the status that `answer` gives, after as long as it takes. */
export const startReceiver = (
  answer: (received: Received, nth: number) => number | Promise<number> = () => 200
): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<Received> = []
      const waiting = new Set<() => void>()
      const server = createServer((request, response) => {
        void (async () => {
          const one = { headers: request.headers, body: await readBody(request) }
          const nth = received.push(one)
          for (const check of waiting) check()
          response.writeHead(await answer(one, nth)).end()
        })()
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      const port = address !== null && typeof address === "object" ? address.port : 0
      const until: Receiver["until"] = (condition) =>
        new Promise((resolve) => {
          const check = (): void => {
            if (!condition(received)) return
            waiting.delete(check)
            resolve()
          }
          waiting.add(check)
          check()
        })
      return { server, receiver: { url: `http://127.0.0.1:${port}/hook`, port, received, until } }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  ).pipe(Effect.map(({ receiver }) => receiver))
