/**
 * The receiver as a handler of web requests: for Hono, Next.js, Bun, Deno and whatever else speaks fetch.
 */
import type { Receiver } from "./Receiver.ts"

export interface FetchHandlerOptions {
  /** Whose request it is: a web request does not say. Needed where `addresses` are given. */
  readonly addressOf?: (request: Request) => string | null
}

export const fetchHandler =
  (receiver: Receiver, { addressOf = () => null }: FetchHandlerOptions = {}) =>
  async (request: Request): Promise<Response> => {
    const { body, headers, status } = await receiver.answer({
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
      address: addressOf(request)
    })
    return new Response(body, { status, headers })
  }
