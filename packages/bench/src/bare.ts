/**
 * A server that responds to every request with the same bytes. Usage: `bare.ts ANSWER`, where ANSWER is JSON with
 * headers and body.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import { createServer } from "node:http"

const { body, headers }: { readonly body: string; readonly headers: Record<string, string> } = JSON.parse(
  process.argv[2] ?? "null"
)

const { url } = await listen(createServer((_, response) => response.writeHead(200, headers).end(body)))
process.stdout.write(`${url}\n`)
