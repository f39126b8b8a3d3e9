/**
 * A receiver of doorhook's webhooks that passes the conformance suite: it lets in who may come in, keeps each event once,
 * answers 200, and works afterwards.
 */
import { makeAddressFilter } from "./Addresses.ts"
import { readEvent } from "./Delivery.ts"
import type { Answer, Delivery, ReceivedRequest } from "./Delivery.ts"
import { causeInWords, logProblem } from "./Problem.ts"
import type { Problem } from "./Problem.ts"
import { makeVerifier } from "./Signature.ts"
import type { ReceiverStore } from "./Store.ts"
import { makeWorker } from "./Worker.ts"

export interface ReceiverOptions<Tx> {
  /** `memoryStore()`, `sqliteStore(database)`, `postgresStore(pool)`, or your own. */
  readonly store: ReceiverStore<Tx>
  /** The `whsec_` secrets; two while one is rotated. Without any, signatures are not checked. */
  readonly secrets?: ReadonlyArray<string>
  /** Ranges that deliveries may come from, as `GET /v4/webhook_sources` lists them. Without any, all may. */
  readonly addresses?: ReadonlyArray<string>
  /**
   * Writes down what the event means, exactly once: in one transaction with the mark that its id is known, before the
   * answer. Keep it short; throw to refuse for now (503: it comes again).
   */
  readonly record?: (tx: Tx, delivery: Delivery) => void | Promise<void>
  /** Does what takes time, after the answer, at least once. */
  readonly work?: (delivery: Delivery) => void | Promise<void>
  /** What is waited after each failure of `work`, in milliseconds. By default 1 s, 10 s, 1 min, 10 min, 1 h. */
  readonly retryDelaysMs?: ReadonlyArray<number>
  /** From which failure of `work` on a person is told; 3 by default. */
  readonly alertAfter?: number
  /** How much work runs at once; 4 by default. */
  readonly concurrency?: number
  /** How long keeping may take before 503 is answered, in milliseconds; 4000 by default, a second under the limit. */
  readonly answerWithinMs?: number
  /** By default a line of JSON on standard error. */
  readonly onProblem?: (problem: Problem) => void
  /** Milliseconds since the epoch. */
  readonly now?: () => number
}

export interface Receiver {
  /** Answers one request; never rejects. */
  readonly answer: (request: ReceivedRequest) => Promise<Answer>
  /** Takes up the work that an earlier process left. Called once, at the start; not needed where there is no `work`. */
  readonly start: () => void
  /** Starts no more work and resolves when what runs is over. */
  readonly close: () => Promise<void>
}

/** The longest id that is taken, in characters. */
const longestId = 255

const text = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body
})

const defaultDelays = [1_000, 10_000, 60_000, 600_000, 3_600_000]

/** Throws `InvalidSecret` or `InvalidRange` at once, so that a wrong setting shows at the start. */
export const makeReceiver = <Tx>(options: ReceiverOptions<Tx>): Receiver => {
  const { addresses = [], answerWithinMs = 4_000, onProblem = logProblem, secrets = [], store } = options
  const { now = Date.now, record = () => undefined, work } = options
  const verifier = secrets.length === 0 ? null : makeVerifier(secrets)
  const isAllowed = addresses.length === 0 ? null : makeAddressFilter(addresses)
  const worker =
    work === undefined
      ? null
      : makeWorker({
          store,
          work,
          now,
          onProblem,
          retryDelaysMs: options.retryDelaysMs ?? defaultDelays,
          alertAfter: options.alertAfter ?? 3,
          concurrency: options.concurrency ?? 4
        })

  const refuse = (answer: Answer, kind: Problem["kind"], message: string, id: string | null): Answer => {
    onProblem({ kind, severity: "warning", message, id, cause: null })
    return answer
  }

  const keep = async (delivery: Delivery): Promise<Answer> => {
    let timer: NodeJS.Timeout | undefined
    const kept = store
      .keep(delivery, (tx) => record(tx, delivery), worker !== null)
      .then((isNew) => {
        if (isNew) worker?.wake()
      })
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), answerWithinMs)
    })
    try {
      if ((await Promise.race([kept, late])) !== "late") return text(200, "ok")
      const message = `not kept within ${answerWithinMs} ms: the store is too slow; answered 503, it comes again`
      onProblem({ kind: "slow", severity: "alert", message, id: delivery.id, cause: null })
      // It may still be kept, and is then known when it comes again; a failure from now on was told already.
      kept.catch(() => undefined)
      return text(503, "not kept in time; send it again")
    } catch (cause) {
      const message = `could not be kept: ${causeInWords(cause)}; answered 503, it comes again`
      onProblem({ kind: "not_kept", severity: "alert", message, id: delivery.id, cause })
      return text(503, "not kept; send it again")
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    answer: async ({ address, body, headers, method }) => {
      const id = headers["webhook-id"] ?? null
      if (isAllowed !== null && (address === null || !isAllowed(address))) {
        const message = `refused: ${address ?? "an unknown address"} is not among the allowed addresses`
        return refuse(text(403, "this address may not send here"), "refused_address", message, id)
      }
      if (method !== "POST") return text(405, "deliveries are POSTed here", { allow: "POST" })
      const failure = verifier === null ? null : verifier.verify(headers, body, now())
      if (failure !== null) {
        const message = `refused: ${failure.replaceAll("_", " ")}; check the secret and this machine's clock`
        return refuse(text(401, `not accepted: ${failure}`), "refused_signature", message, id)
      }
      if (id === null || id === "" || id.length > longestId) {
        return refuse(text(400, "the header webhook-id is needed"), "unreadable", "refused: no usable webhook-id", null)
      }
      const read = readEvent(body)
      if (typeof read === "string") return refuse(text(400, read), "unreadable", `refused: ${read}`, id)
      const attempt = Number(headers["doorhook-attempt"])
      return keep({
        id,
        attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
        receivedAt: now(),
        ...read
      })
    },
    start: () => worker?.wake(),
    close: async () => worker?.close()
  }
}
