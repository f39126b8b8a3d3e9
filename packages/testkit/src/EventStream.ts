/**
 * A client of server-sent events that reads like `EventSource`, but with headers, and one event after the other.
 */

/** A server-sent event. `event` is `comment` for a comment. */
export interface StreamEvent {
  readonly event: string
  readonly id: string | null
  readonly data: string
}

export class EventStream {
  readonly response: Response
  /** The id of the last event that had one, to continue after it. */
  lastId: string | null = null
  readonly #abort: AbortController
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #decoder = new TextDecoder()
  #text = ""

  private constructor(response: Response, abort: AbortController) {
    this.response = response
    this.#abort = abort
    this.#reader = response.body?.getReader()
  }

  static async open(
    url: string,
    headers: Readonly<Record<string, string>>,
    send: (request: Request) => Promise<Response> = fetch
  ): Promise<EventStream> {
    const abort = new AbortController()
    const all = { accept: "text/event-stream", ...headers }
    return new EventStream(await send(new Request(url, { headers: all, signal: abort.signal })), abort)
  }

  /** Returns the next event or comment; null at the end of the stream. */
  async next(): Promise<StreamEvent | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n")
      if (end >= 0) {
        const block = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        return this.#parse(block)
      }
      const read = await this.#reader?.read()
      if (read === undefined || read.done) return null
      this.#text += this.#decoder.decode(read.value, { stream: true })
    }
  }

  /** Returns the next event that is no comment. */
  async nextEvent(): Promise<StreamEvent | null> {
    for (;;) {
      const event = await this.next()
      if (event?.event !== "comment") return event
    }
  }

  close(): void {
    this.#abort.abort()
  }

  #parse(block: string): StreamEvent {
    const fields = new Map<string, Array<string>>()
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":")
      const name = line.slice(0, colon)
      fields.set(name, [...(fields.get(name) ?? []), line.slice(colon + 1).replace(/^ /, "")])
    }
    const id = fields.get("id")?.at(-1) ?? null
    if (id !== null) this.lastId = id
    const event = fields.get("event")?.at(-1) ?? (fields.has("data") ? "message" : "comment")
    return { event, id, data: (fields.get("data") ?? []).join("\n") }
  }
}
