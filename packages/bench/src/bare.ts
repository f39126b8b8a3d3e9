/**
 * A server that responds to every request with the same bytes. Usage: `bare.ts ANSWER`, where ANSWER is JSON with
 * headers and body.
 */
import { createServer } from "node:http"

const { body, headers }: { readonly body: string; readonly headers: Record<string, string> } = JSON.parse(
  process.argv[2] ?? "null"
)

const server = createServer((_, response) => response.writeHead(200, headers).end(body)).listen(0, "127.0.0.1", () => {
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  process.stdout.write(`http://127.0.0.1:${port}\n`)
})
