/**
 * Whether an answer gives away what a forger needs: the signature that would have been good, or the secret.
 */
import { Signature } from "@doorhook/core"
import type { Crypto } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { Attempt } from "../evidence/Trace.ts"
import type { Exchange, HttpRequest } from "../evidence/Exchange.ts"
import type { Actor } from "./Execution.ts"

const names = Signature.headerNames
/** What a secret, or a private key, begins with. */
const secretPrefix = /^whs(?:ec|k)_/

/** A MAC as it may stand in an answer: base64 with or without its padding, of either alphabet, or hex. */
const formsOf = (mac: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(mac, "base64")
  return [mac.replace(/=+$/, ""), bytes.toString("base64url"), bytes.toString("hex")]
}

/** A text that is long enough to hold a MAC. */
const holdsMac = /[A-Za-z0-9+/_-]{43}/

/** What the answer to a request gives away, of what the request itself did not hold; null for nothing. */
export const leakOf = Effect.fnUntraced(function* (
  exchange: Exchange,
  request: HttpRequest,
  { minted, signedAt }: Actor,
  secret: Redacted.Redacted<string> | null
): Effect.fn.Return<Attempt["leaked"], never, Crypto> {
  if (secret === null || exchange._tag !== "Answered") return null
  // Some writers of JSON put a backslash before each slash.
  const said = [exchange.excerpt, ...Object.values(exchange.headers)].join("\n").replaceAll("\\/", "/")
  const key = Redacted.value(secret).replace(secretPrefix, "")
  if (key !== "" && said.includes(key)) return "secret"
  if (!holdsMac.test(said)) return null
  const stated = Number(request.headers[names.timestamp])
  const timestamps = [Math.floor(signedAt / 1_000), ...(Number.isInteger(stated) ? [stated] : [])]
  const sent = [...Object.values(request.headers), request.body].join("\n")
  for (const timestamp of new Set(timestamps)) {
    const good = yield* Signature.sign([secret], {
      id: request.headers[names.id] || minted.webhook_id,
      timestamp,
      body: request.body
    })
    const mac = good.slice(good.indexOf(",") + 1)
    if (mac !== "" && !sent.includes(mac) && formsOf(mac).some((form) => said.includes(form))) return "signature"
  }
  return null
})
