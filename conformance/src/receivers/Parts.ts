/**
 * The parts of the correct receiver: the places at which a faulty one differs.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { parseEvent, signatureVerifier } from "@doorhook/receiver"
import type { Answer, WebhookEvent } from "@doorhook/receiver"
import type { Ledger } from "./Ledger.ts"

/** What a receiver runs with, for as long as its process lives. */
export interface Setting {
  readonly ledger: Ledger
  /** Its clock, which the control can advance; milliseconds since the epoch. */
  readonly now: () => number
  /** What the sender allows, in milliseconds: faults that are late are late by this. */
  readonly deadline: number
  /** Checks signatures when there is one. */
  readonly secret: string | null
}

/** One request that was read and understood. */
export interface Message {
  readonly id: string
  readonly scope: string
  readonly request: IncomingMessage
  readonly event: WebhookEvent
  readonly body: string
  /** What duplicates are known by, as `key` says. */
  readonly key: string
  /** What is written down, as `stored` says. */
  readonly stored: string
}

export interface Parts {
  /** What happens before the first request is taken. */
  readonly started: () => void | Promise<void>
  /** Looks at a request before its body is read; an answer refuses it. */
  readonly arrived: (request: IncomingMessage) => Answer | null
  /** Looks at a request that waits for `100 Continue`. */
  readonly expected: (request: IncomingMessage) => Answer | null
  /** The body, or an answer that refuses it; rejects when the sender goes away before its end. */
  readonly read: (request: IncomingMessage) => Promise<Buffer | Answer>
  readonly isGenuine: (headers: Readonly<Record<string, string | undefined>>, body: Buffer) => boolean
  /** The event, or what is wrong with the body. */
  readonly understand: (
    body: Buffer,
    headers: Readonly<Record<string, string | undefined>>
  ) => ReturnType<typeof parseEvent>
  readonly key: (message: Omit<Message, "key" | "stored">) => string
  readonly stored: (message: Omit<Message, "key" | "stored">) => string
  /** Does what the event asks for; whether it was new. */
  readonly keep: (message: Message) => boolean | Promise<boolean>
  readonly answer: (message: Message, isNew: boolean) => Answer | Promise<Answer>
  readonly send: (answer: Answer, response: ServerResponse, request: IncomingMessage) => void
  /** What the probe says. */
  readonly count: (id: string, scope: string | null) => number
}

export const plain = (status: number, body = "", headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body
})

export const acknowledged = plain(200, "ok")

export const readWhole = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** The receiver that does everything right. */
export const correctParts = ({ ledger, now, secret }: Setting): Parts => {
  const verifier = secret === null ? null : signatureVerifier([secret])
  return {
    started: () => undefined,
    arrived: ({ method }) => (method === "POST" ? null : plain(405, "POST is taken here", { allow: "POST" })),
    expected: () => null,
    read: readWhole,
    isGenuine: (headers, body) => verifier === null || verifier(headers, body, now()) === null,
    understand: parseEvent,
    key: ({ id, scope }) => `${scope} ${id}`,
    stored: ({ body }) => body,
    keep: ({ id, key, scope, stored }) => ledger.once(key, { id, scope, stored }, now()),
    answer: () => acknowledged,
    send: ({ body, headers, status }, response) => void response.writeHead(status, headers).end(body),
    count: (id, scope) => ledger.count(id, scope)
  }
}
