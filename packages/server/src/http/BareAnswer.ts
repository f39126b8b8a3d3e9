/**
 * Answers of whoever has a connection and no request that routes could answer: it could not be read, or came too late.
 */
import { randomBytes } from "node:crypto"
import { json } from "./MediaType.ts"
import type { RequestFailure } from "./RequestFailure.ts"
import { failureBody } from "./RequestFailure.ts"
import { requestIdHeader } from "./RequestId.ts"

/** An answer, ready to be written. */
export interface BareAnswer {
  /** What its error objects and its `x-request-id` say. */
  readonly id: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Tells a failure, under an id of its own. */
export const bareAnswer = (failure: RequestFailure): BareAnswer => {
  const id = `req_${randomBytes(8).toString("hex")}`
  const body = failureBody(id, failure)
  const headers = {
    ...failure.headers,
    "content-type": json,
    "content-length": String(Buffer.byteLength(body)),
    [requestIdHeader]: id,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store"
  }
  return { id, status: failure.status, headers, body }
}
