/**
 * A receiver of doorhook's webhooks: verifies a request, keeps its event once, answers 200, and works afterwards.
 *
 * The way of a request is `handle`, below; each of its steps is one of `ReceiverParts` and can be replaced.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { addressFilter } from "./Addresses.ts"
import { answer, parseEvent } from "./Delivery.ts"
import type { Answer, Delivery, ReceivedRequest } from "./Delivery.ts"
import { InvalidOption, logProblem, reasonOf, Refusal } from "./Problem.ts"
import type { Problem } from "./Problem.ts"
import { fastifyPlugin, nodeRequest, sendAnswer, webRequest } from "./Servers.ts"
import type { FastifyPlugin } from "./Servers.ts"
import { signatureVerifier } from "./Signature.ts"
import type { ReceiverStore } from "./Store.ts"
import { makeWorker } from "./Worker.ts"
import type { WorkContext } from "./Worker.ts"

/** The steps of a request, in their order. Each may throw a `Refusal`, which is answered instead. */
export interface ReceiverParts {
  /** Refuses a request before its body is read: by its address, then by its method. */
  readonly admit: (request: ReceivedRequest) => void
  /** Reads the body, up to `maxBodyBytes`. */
  readonly readBody: (request: ReceivedRequest) => Promise<Uint8Array>
  /** Refuses a request that is not genuine. */
  readonly verify: (request: ReceivedRequest, body: Uint8Array) => void
  /** Reads the event and the headers. */
  readonly parse: (request: ReceivedRequest, body: Uint8Array) => Delivery
  /** The key that duplicates share: `delivery.id`. Receivers at several URLs that share a store add the URL. */
  readonly identify: (delivery: Delivery, request: ReceivedRequest) => string
  /** Keeps the delivery in the store unless its key is known, records it, and resolves to whether it was new. */
  readonly keep: (key: string, delivery: Delivery, request: ReceivedRequest) => Promise<boolean>
  /** The answer to a new delivery or to a duplicate: 200 to both. */
  readonly acknowledge: (isNew: boolean, delivery: Delivery, request: ReceivedRequest) => Answer | Promise<Answer>
}

export interface ReceiverOptions<Tx> {
  /**
   * The `whsec_` secrets: two while one is rotated. Where the service signs with its own key, the `whpk_` public key of
   * `GET /v4/webhook_keys`. `"allow_unsigned"` accepts requests from anybody who knows the URL: for
   * integrations without a secret.
   */
  readonly secrets: ReadonlyArray<string> | "allow_unsigned"
  /** `memoryStore()`, `sqliteStore(database)`, `postgresStore(pool)`, or your own. */
  readonly store: ReceiverStore<Tx>
  /**
   * Writes down what the event means, exactly once: in one transaction with the mark that it is known, before the answer.
   * Keep it short. Throw to answer 503, so that the event comes again, or throw a `Refusal` for another answer.
   */
  readonly record?: (tx: Tx, delivery: Delivery) => void | Promise<void>
  /**
   * Does what takes time or may fail, after the answer, at least once: after a crash it may run again, so pass `delivery.id`
   * on as an idempotency key.
   */
  readonly work?: (delivery: Delivery, context: WorkContext) => void | Promise<void>
  /** Delays after each failure of `work`, in milliseconds; one failure more gives up. 1 s, 10 s, 1 min, 10 min, 1 h by default. */
  readonly retryDelaysMs?: ReadonlyArray<number>
  /** From this failure of a delivery's `work` on, problems are alerts; 3 by default. */
  readonly alertAfter?: number
  /** How many deliveries are worked on at once in this process; 4 by default. */
  readonly concurrency?: number
  /** Ranges that deliveries may come from, as `GET /v4/webhook_sources` lists them. All by default. */
  readonly addresses?: ReadonlyArray<string>
  /** Address of the sender if a proxy is in front, such as `({ headers }) => headers["x-real-ip"] ?? null`. */
  readonly addressOf?: (request: ReceivedRequest) => string | null
  /** Greatest difference of a signature's timestamp and this machine's clock, in seconds; 300 by default. */
  readonly toleranceSeconds?: number
  /** Longest body, in bytes; 1 MiB by default. An event may have 256 KiB of data. */
  readonly maxBodyBytes?: number
  /** How long keeping may take before 503 is answered, in milliseconds; 4000 by default, a second under doorhook's limit. */
  readonly answerWithinMs?: number
  /** Gets what went wrong; must not throw. Writes a line of JSON to standard error by default. */
  readonly onProblem?: (problem: Problem) => void
  /** Replaces steps: gets the standard ones and returns those that differ. */
  readonly parts?: (standard: ReceiverParts) => Partial<ReceiverParts>
  /** The clock, in milliseconds since the epoch. */
  readonly now?: () => number
}

export interface Receiver {
  /** For `createServer` and for Express: `app.all("/hook", receiver.node)`, above `express.json()`. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  /** For Hono, Next.js and others with web requests. `addresses` need the sender's address here. */
  readonly fetch: (
    request: Request,
    context?: { readonly remoteAddress?: string | null | undefined }
  ) => Promise<Response>
  /** For Fastify: `app.register(receiver.fastify, { prefix: "/hook" })`. */
  readonly fastify: FastifyPlugin
  /** Answers a request of any other server. Never rejects. */
  readonly handle: (request: ReceivedRequest) => Promise<Answer>
  /** Takes up the work that an earlier process left. Call it once, when the store's table is there; needed only with `work`. */
  readonly start: () => void
  /**
   * Keeps nothing from now on (503: it comes again), starts no more work, aborts the `signal` of what runs, and resolves when
   * that has ended. Close the database then.
   */
  readonly close: () => Promise<void>
}

const longestId = 255

const defaultDelaysMs = [1_000, 10_000, 60_000, 600_000, 3_600_000]

const alerts: ReadonlySet<Problem["kind"]> = new Set(["not_kept", "too_slow", "body_consumed"])

const invalid = (status: number, body: string): Refusal =>
  new Refusal(status, body, { kind: "invalid_request", message: `refused: ${body}; doorhook sends nothing like it` })

/** Throws `InvalidOption`, so that a wrong secret or range shows at the start. */
export const createReceiver = <Tx>(options: ReceiverOptions<Tx>): Receiver => {
  const {
    addressOf = ({ address }) => address,
    addresses = [],
    answerWithinMs = 4_000,
    maxBodyBytes = 1_048_576
  } = options
  const { now = Date.now, onProblem = logProblem, record = () => undefined, secrets, store, work } = options
  if (secrets.length === 0) {
    throw new InvalidOption("secrets", 'give the integration\'s whsec_ secret, or "allow_unsigned" to accept anybody')
  }
  const verifier = secrets === "allow_unsigned" ? null : signatureVerifier(secrets, options.toleranceSeconds)
  const isAllowed = addresses.length === 0 ? null : addressFilter(addresses)
  const { alertAfter = 3, concurrency = 4, retryDelaysMs = defaultDelaysMs } = options
  const worker =
    work === undefined ? null : makeWorker({ store, work, now, onProblem, retryDelaysMs, alertAfter, concurrency })
  const open = new Set<Promise<unknown>>()
  let isClosed = false

  const standard: ReceiverParts = {
    admit: (request) => {
      const address = isAllowed === null ? null : addressOf(request)
      if (isAllowed !== null && (address === null || !isAllowed(address))) {
        const message = `refused: ${address ?? "an unknown address"} is not in \`addresses\`; behind a proxy, set \`addressOf\``
        throw new Refusal(403, "this address may not send here", { kind: "refused_address", message })
      }
      if (request.method !== "POST") throw new Refusal(405, "deliveries are POSTed", { headers: { allow: "POST" } })
    },
    readBody: async (request) => {
      const body = await request.body(maxBodyBytes).catch((cause: unknown) => {
        if (cause instanceof Refusal) throw cause
        const message = "the sender went away before the end of the body; it comes again"
        throw new Refusal(400, "the body broke off", { kind: "broken_off", message, cause })
      })
      if (body === null) throw invalid(413, "the body is too long")
      return body
    },
    verify: ({ headers }, body) => {
      const failure = verifier === null ? null : verifier(headers, body, now())
      if (failure === null) return
      const message = `refused: ${failure.replaceAll("_", " ")}; check the secret and this machine's clock`
      throw new Refusal(401, `not accepted: ${failure}`, { kind: "refused_signature", message })
    },
    parse: ({ headers }, body) => {
      const id = headers["webhook-id"] ?? ""
      if (id === "" || id.length > longestId) throw invalid(400, "there is no usable header webhook-id")
      const parsed = parseEvent(body)
      if ("wrong" in parsed) throw invalid(400, parsed.wrong)
      const attempt = Number(headers["doorhook-attempt"])
      return { id, attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1, receivedAt: now(), ...parsed }
    },
    identify: ({ id }) => id,
    keep: (key, delivery) =>
      store.keep(key, delivery, (tx) => record(tx, delivery), worker === null ? null : delivery.receivedAt),
    acknowledge: () => answer(200, "ok")
  }
  const parts: ReceiverParts = { ...standard, ...options.parts?.(standard) }

  const report = (kind: Problem["kind"], message: string, id: string | null, cause: unknown): void =>
    onProblem({ kind, severity: alerts.has(kind) ? "alert" : "warning", message, id, cause })

  /** Waits for the store, but not longer than the sender waits. */
  const keepInTime = async (delivery: Delivery, request: ReceivedRequest): Promise<boolean> => {
    if (isClosed) throw new Refusal(503, "the receiver stops; send it again")
    const kept = parts.keep(parts.identify(delivery, request), delivery, request).then((isNew) => {
      if (isNew) worker?.wake()
      return isNew
    })
    open.add(kept)
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const message = `not kept within ${answerWithinMs} ms, answered 503, it comes again: make the store faster`
      const refusal = new Refusal(503, "not kept in time; send it again", { kind: "too_slow", message })
      timer = setTimeout(() => reject(refusal), answerWithinMs)
    })
    try {
      return await Promise.race([kept, late])
    } finally {
      clearTimeout(timer)
      // It may still be kept, and is then known when it comes again; that it was late is reported.
      kept.catch(() => undefined).finally(() => open.delete(kept))
    }
  }

  const receive = async (request: ReceivedRequest): Promise<Answer> => {
    parts.admit(request)
    const body = await parts.readBody(request)
    parts.verify(request, body)
    const delivery = parts.parse(request, body)
    const isNew = await keepInTime(delivery, request)
    return parts.acknowledge(isNew, delivery, request)
  }

  const handle = async (request: ReceivedRequest): Promise<Answer> => {
    const id = request.headers["webhook-id"] ?? null
    try {
      return await receive(request)
    } catch (cause) {
      if (cause instanceof Refusal) {
        if (cause.kind !== null) report(cause.kind, cause.message, id, cause.cause)
        return cause.answer
      }
      report("not_kept", `could not be kept: ${reasonOf(cause)}; answered 503, it comes again`, id, cause)
      return answer(503, "not kept; send it again")
    }
  }

  const node: Receiver["node"] = (request, response) => {
    void handle(nodeRequest(request)).then((given) => sendAnswer(given, request, response))
  }
  return {
    node,
    fetch: async (request, { remoteAddress = null } = {}) => {
      const { body, headers, status } = await handle(webRequest(request, remoteAddress))
      // A status like 204 takes no body, not even an empty one.
      return new Response(body === "" ? null : body, { status, headers })
    },
    fastify: fastifyPlugin(node),
    handle,
    start: () => worker?.wake(),
    close: async () => {
      isClosed = true
      await Promise.allSettled(open)
      await worker?.close()
    }
  }
}
