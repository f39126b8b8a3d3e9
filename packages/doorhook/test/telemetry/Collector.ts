/**
 * An OpenTelemetry collector that keeps what it is sent.
 */
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"

/** One export: the signal that its path names, and its body. */
interface Exported {
  readonly signal: string
  readonly body: string
}

/** Starts one, on any free port. */
export const startCollector = Effect.acquireRelease(
  Effect.promise(async () => {
    const exported: Array<Exported> = []
    const waiting = new Set<() => void>()
    /** Resolves once the condition holds; it is looked at after each export. */
    const until = (condition: (all: ReadonlyArray<Exported>) => boolean): Promise<void> =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!condition(exported)) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      })
    const server = createServer((request, response) => {
      void (async () => {
        const chunks: Array<Buffer> = []
        for await (const chunk of request) chunks.push(Buffer.from(chunk))
        exported.push({ signal: request.url?.split("/").at(-1) ?? "", body: Buffer.concat(chunks).toString("utf8") })
        for (const check of waiting) check()
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })()
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const url = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`
    return { server, url, exported, until }
  }),
  ({ server }) =>
    Effect.promise(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    })
)

/** Every object in a document that has this member, at whatever depth. */
export const objectsWith = (member: string, document: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  if (typeof document !== "object" || document === null) return []
  const inner = Object.values(document).flatMap((value) => objectsWith(member, value))
  return member in document ? [{ ...document }, ...inner] : inner
}
