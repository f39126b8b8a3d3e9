/**
 * A receiver of doorhook's webhooks: verifies a request, stores its event once, responds with 200, and processes the
 * event afterwards.
 *
 * `handle`, below, processes a request. Each of its steps is one of `ReceiverParts` and can be replaced.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { addressFilter } from "./Addresses.ts"
import { answer, parseEvent, parseSeconds } from "./Delivery.ts"
import type { Answer, Delivery, ReceivedRequest } from "./Delivery.ts"
import { checkWhole, InvalidOption, logProblem, reasonOf, Refusal } from "./Problem.ts"
import type { Problem } from "./Problem.ts"
import { fastifyPlugin, nodeRequest, sendAnswer, webRequest } from "./Servers.ts"
import type { FastifyPlugin } from "./Servers.ts"
import { signatureVerifier } from "./Signature.ts"
import type { ReceiverStore } from "./Store.ts"
import { makeWorker } from "./Worker.ts"
import type { WorkContext } from "./Worker.ts"

/**
 * The steps of handling a request, in order. Each may throw a `Refusal`, or reject with one, which determines the
 * response.
 */
export interface ReceiverParts {
  /** Checks the sender's address, then the method, before the body is read. */
  readonly admit: (request: ReceivedRequest) => void | Promise<void>
  /** Reads the body, up to `maxBodyBytes`. */
  readonly readBody: (request: ReceivedRequest) => Promise<Uint8Array>
  /** Refuses a request that is not genuine. */
  readonly verify: (request: ReceivedRequest, body: Uint8Array) => void | Promise<void>
  /** Reads the event and the headers. */
  readonly parse: (request: ReceivedRequest, body: Uint8Array) => Delivery | Promise<Delivery>
  /** Returns the key that duplicates share: `delivery.id`. If receivers at several URLs share a store, add the URL. */
  readonly identify: (delivery: Delivery, request: ReceivedRequest) => string | Promise<string>
  /** Stores and records the delivery unless its key is known. Resolves to whether the delivery is new. */
  readonly keep: (key: string, delivery: Delivery, request: ReceivedRequest) => Promise<boolean>
  /** Returns the response to a new delivery or a duplicate: 200 for both. */
  readonly acknowledge: (isNew: boolean, delivery: Delivery, request: ReceivedRequest) => Answer | Promise<Answer>
}

/** The standard steps, some of which are synchronous. */
export interface StandardParts extends ReceiverParts {
  readonly admit: (request: ReceivedRequest) => void
  readonly verify: (request: ReceivedRequest, body: Uint8Array) => void
  readonly parse: (request: ReceivedRequest, body: Uint8Array) => Delivery
  readonly identify: (delivery: Delivery, request: ReceivedRequest) => string
  readonly acknowledge: (isNew: boolean, delivery: Delivery, request: ReceivedRequest) => Answer
}

export interface ReceiverOptions<Tx> {
  /**
   * The `whsec_` secrets (two during a rotation), or the `whpk_` public key from `GET /v4/webhook_keys` if the service
   * signs with its own key. `"allow_unsigned"`, for integrations without a secret, accepts requests from anybody who
   * knows the URL.
   */
  readonly secrets: ReadonlyArray<string> | "allow_unsigned"
  /** `memoryStore()`, `sqliteStore(database)`, `postgresStore(pool)`, or your own. */
  readonly store: ReceiverStore<Tx>
  /**
   * Records the effects of an event exactly once, before the response: in the transaction that also marks the event as
   * known. Keep this function fast. An exception causes a 503, and doorhook sends the event again; a `Refusal` causes
   * another response.
   */
  readonly record?: (tx: Tx, delivery: Delivery) => void | Promise<void>
  /**
   * Does work that takes time or can fail. Called after the response, at least once per event. It might run again after
   * a crash, so pass `delivery.id` on as an idempotency key.
   */
  readonly work?: (delivery: Delivery, context: WorkContext) => void | Promise<void>
  /**
   * Delays before each retry of `work`, in milliseconds. Gives up when all retries have failed. Default 1 s, 10 s, 1
   * min, 10 min, 1 h.
   */
  readonly retryDelaysMs?: ReadonlyArray<number>
  /** Number of failures of a delivery's `work` from which on each failure is reported as an alert. Default 3. */
  readonly alertAfter?: number
  /** Maximum number of concurrent `work` calls in this process. Default 4. */
  readonly concurrency?: number
  /** Address ranges to accept deliveries from, as listed at `GET /v4/webhook_sources`. Default all. */
  readonly addresses?: ReadonlyArray<string>
  /** Returns the sender's address behind a proxy, like `({ headers }) => headers["x-real-ip"] ?? null`. */
  readonly addressOf?: (request: ReceivedRequest) => string | null
  /** Maximum difference between a signature's timestamp and this machine's clock, in seconds. Default 300. */
  readonly toleranceSeconds?: number
  /** Maximum body size, in bytes. Default 1 MiB; the data of an event can be 256 KiB. */
  readonly maxBodyBytes?: number
  /**
   * How long storing may take before the response is 503, in milliseconds. Default 4000, one second less than
   * doorhook's timeout.
   */
  readonly answerWithinMs?: number
  /** Called with each problem; must not throw. Default: writes a line of JSON to standard error. */
  readonly onProblem?: (problem: Problem) => void
  /** Replaces steps: gets the standard steps and returns the replacements. */
  readonly parts?: (standard: StandardParts) => Partial<ReceiverParts>
  /** Returns the current time, in milliseconds since the epoch. */
  readonly now?: () => number
}

export interface Receiver {
  /** For `createServer` and for Express: `app.all("/hook", receiver.node)`, above `express.json()`. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  /** For Hono, Next.js and other frameworks that use web requests. Pass the sender's address if you set `addresses`. */
  readonly fetch: (
    request: Request,
    context?: { readonly remoteAddress?: string | null | undefined }
  ) => Promise<Response>
  /** For Fastify: `app.register(receiver.fastify, { prefix: "/hook" })`. */
  readonly fastify: FastifyPlugin
  /** Handles a request of any other server. Never rejects. */
  readonly handle: (request: ReceivedRequest) => Promise<Answer>
  /**
   * Resumes work that an earlier process left. Call this once, after creating the store's table. Needed only with
   * `work`.
   */
  readonly start: () => void
  /**
   * Stops the receiver. It responds to new deliveries with 503, starts no more work, and aborts the `signal` of running
   * work. Resolves when that work has ended. Close the database afterwards.
   */
  readonly close: () => Promise<void>
}

const longestId = 255

/** The longest delay of a Node.js timer, in milliseconds. A longer timer would end at once. */
const longestTimer = 2 ** 31 - 1

const defaultDelaysMs = [1_000, 10_000, 60_000, 600_000, 3_600_000]

const alerts: ReadonlySet<Problem["kind"]> = new Set(["not_kept", "too_slow", "body_consumed"])

const invalid = (status: number, body: string): Refusal =>
  new Refusal(status, body, {
    kind: "invalid_request",
    message: `refused: ${body}; doorhook does not send such requests`
  })

/** Makes a receiver. Throws `InvalidOption` for an invalid secret, range or number. */
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
  checkWhole("maxBodyBytes", maxBodyBytes, 1)
  checkWhole("answerWithinMs", answerWithinMs, 1, longestTimer)
  checkWhole("alertAfter", alertAfter, 1)
  checkWhole("concurrency", concurrency, 1)
  for (const delay of retryDelaysMs) checkWhole("retryDelaysMs", delay, 0)
  const worker =
    work === undefined ? null : makeWorker({ store, work, now, onProblem, retryDelaysMs, alertAfter, concurrency })
  const open = new Set<Promise<unknown>>()
  let isClosed = false

  const standard: StandardParts = {
    admit: (request) => {
      const address = isAllowed === null ? null : addressOf(request)
      if (isAllowed !== null && (address === null || !isAllowed(address))) {
        const message = `refused: ${address ?? "an unknown address"} is not in \`addresses\`; behind a proxy, set \`addressOf\``
        throw new Refusal(403, "this address is not allowed", { kind: "refused_address", message })
      }
      if (request.method !== "POST") throw new Refusal(405, "deliveries are POSTed", { headers: { allow: "POST" } })
    },
    readBody: async (request) => {
      const body = await request.body(maxBodyBytes).catch((cause: unknown) => {
        if (cause instanceof Refusal) throw cause
        const message = "the sender closed the connection before the end of the body; doorhook will retry"
        throw new Refusal(400, "the body is incomplete", { kind: "broken_off", message, cause })
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
      return {
        id,
        attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
        expiresAt: parseSeconds(headers["doorhook-expires-at"]),
        isReplay: headers["doorhook-replay"] === "1",
        receivedAt: now(),
        ...parsed
      }
    },
    identify: ({ id }) => id,
    keep: (key, delivery) =>
      store.keep(key, delivery, (tx) => record(tx, delivery), worker === null ? null : delivery.receivedAt),
    acknowledge: () => answer(200, "ok")
  }
  const parts: ReceiverParts = { ...standard, ...options.parts?.(standard) }

  const report = (kind: Problem["kind"], message: string, id: string | null, cause: unknown): void =>
    onProblem({ kind, severity: alerts.has(kind) ? "alert" : "warning", message, id, cause })

  /** Stores a delivery. Refuses it with a 503 if this takes longer than `answerWithinMs`. */
  const keepInTime = async (key: string, delivery: Delivery, request: ReceivedRequest): Promise<boolean> => {
    if (isClosed) throw new Refusal(503, "the receiver is stopping; send the request again")
    const kept = parts.keep(key, delivery, request).then((isNew) => {
      if (isNew) worker?.wake()
      return isNew
    })
    open.add(kept)
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const message = `not stored within ${answerWithinMs} ms, answered 503; doorhook will retry. Make the store faster`
      const refusal = new Refusal(503, "not stored in time; send the request again", { kind: "too_slow", message })
      timer = setTimeout(() => reject(refusal), answerWithinMs)
    })
    try {
      return await Promise.race([kept, late])
    } finally {
      clearTimeout(timer)
      // The delivery might still be stored, and then its retry is a duplicate.
      kept.catch(() => undefined).finally(() => open.delete(kept))
    }
  }

  const receive = async (request: ReceivedRequest): Promise<Answer> => {
    await parts.admit(request)
    const body = await parts.readBody(request)
    await parts.verify(request, body)
    const delivery = await parts.parse(request, body)
    const key = await parts.identify(delivery, request)
    const isNew = await keepInTime(key, delivery, request)
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
      report("not_kept", `could not be stored: ${reasonOf(cause)}; answered 503, doorhook will retry`, id, cause)
      return answer(503, "not stored; send the request again")
    }
  }

  const node: Receiver["node"] = (request, response) => {
    void handle(nodeRequest(request)).then((given) => sendAnswer(given, request, response))
  }
  return {
    node,
    fetch: async (request, { remoteAddress = null } = {}) => {
      const { body, headers, status } = await handle(webRequest(request, remoteAddress))
      // A status like 204 must not have a body, not even an empty one.
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
