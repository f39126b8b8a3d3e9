/**
 * Receivers and the network in front of them, as a `Transport`. A request is recorded when a receiver gets it, even if
 * its engine dies before the answer.
 */
import type { TransportRequest, TransportResult } from "@doorhook/core"
import { Signature, Transport } from "@doorhook/core"
import type { Process, Rng, VirtualTime } from "@doorhook/simulator/testing"
import type { History } from "../History.ts"
import type { ReceiverKind } from "./Scenario.ts"
import { between, happens, pick } from "./Scenario.ts"

const answered = (status: number, elapsed: number, retry_after: string | null = null): TransportResult => ({
  _tag: "Answered",
  status,
  retry_after,
  excerpt: "",
  headers_elapsed: elapsed,
  elapsed
})

const failed = (outcome: "timeout" | "connection_refused" | "connection_reset", elapsed: number): TransportResult => ({
  _tag: "Failed",
  outcome,
  detail: outcome,
  elapsed
})

/** Returns the number of the receiver behind a URL. */
const receiverOf = (url: string): number => Number(/^https:\/\/receiver(\d+)\./.exec(url)?.[1] ?? 0)

/** Returns a URL of a receiver. A new number in `unique` makes a URL that no integration has used. */
export const urlOf = (receiver: number, unique: number): string => `https://receiver${receiver}.example/hook/${unique}`

export class Receivers {
  readonly #kinds: ReadonlyArray<ReceiverKind>
  readonly #downUntil = new Map<number, number>()
  readonly #rng: Rng
  readonly #time: VirtualTime
  readonly #history: History
  #requests = 0
  #calm = false

  constructor(kinds: ReadonlyArray<ReceiverKind>, time: VirtualTime, history: History, rng: Rng) {
    this.#kinds = kinds
    this.#time = time
    this.#history = history
    this.#rng = rng
  }

  calmDown(): void {
    this.#calm = true
  }

  /** Makes a receiver refuse all connections for a while. */
  down(receiver: number, millis: number): void {
    const until = Math.max(this.#downUntil.get(receiver) ?? 0, this.#time.now + millis)
    this.#downUntil.set(receiver, until)
  }

  /** Returns the network of one process. Its connections break when the process dies. */
  transportOf(process: Process): Transport["Service"] {
    return Transport.make({
      send: (request, done) => {
        let isOpen = true
        this.#carry(process, request, (result) => {
          if (isOpen) done(result)
        })
        return () => {
          isOpen = false
        }
      }
    })
  }

  #carry(process: Process, request: TransportRequest, done: (result: TransportResult) => void): void {
    if (!process.alive) return
    const number = ++this.#requests
    this.#see(number, process, request)
    const result = this.#answer(request)
    this.#time.after(result.elapsed, () => {
      if (!process.alive) return
      this.#history.add({ kind: "response", request: number, result })
      done(result)
    })
  }

  #see(number: number, process: Process, { body, headers, url }: TransportRequest): void {
    this.#history.add({
      kind: "request",
      request: number,
      engine: process.number,
      url,
      webhook_id: headers[Signature.headerNames.id] ?? "",
      attempt: Number(headers[Signature.headerNames.attempt] ?? 0),
      timestamp: headers[Signature.headerNames.timestamp] ?? "",
      signature: headers[Signature.headerNames.signature] ?? "",
      body
    })
  }

  #answer({ deadline, url }: TransportRequest): TransportResult {
    const rng = this.#rng
    const receiver = receiverOf(url)
    const kind = this.#kinds[receiver] ?? "prompt"
    const soon = between(rng, 1, 50)
    if (kind === "dead") return failed("timeout", deadline)
    if (this.#calm) return answered(kind === "accepting" ? 202 : 200, soon)
    if (this.#time.now < (this.#downUntil.get(receiver) ?? 0)) return failed("connection_refused", soon)
    switch (kind) {
      case "prompt":
        return answered(200, soon)
      case "slow": {
        const elapsed = between(rng, 10, Math.ceil(1.1 * deadline))
        return elapsed < deadline ? answered(200, elapsed) : failed("timeout", deadline)
      }
      case "flaky":
        return pick(rng, [
          answered(200, soon),
          answered(200, soon),
          answered(500, soon),
          answered(204, soon),
          answered(302, soon),
          failed("connection_reset", soon)
        ])
      case "late":
        return pick(rng, [
          failed("timeout", deadline),
          answered(200, deadline - soon),
          // A transport that cuts off slowly may return an answer that arrived too late.
          answered(200, deadline + soon)
        ])
      case "throttling": {
        const retryAfter = pick(rng, [null, "0", "2", "15", "7200", "soon"])
        return happens(rng, 0.4) ? answered(200, soon) : answered(pick(rng, [429, 503]), soon, retryAfter)
      }
      // Answers with a 2xx other than 200, which counts as acknowledgement only with an override.
      case "accepting":
        return answered(happens(rng, 0.2) ? 503 : 202, soon)
      case "leaving":
        return happens(rng, 0.1) ? answered(410, soon) : answered(200, soon)
    }
  }
}
