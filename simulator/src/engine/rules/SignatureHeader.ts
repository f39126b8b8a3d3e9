/**
 * The signature that a request should carry: with the current secret of its integration, and with each before it whose
 * day is not over.
 */
import type { Integration } from "@doorhook/core"
import { Signature } from "@doorhook/core"
import { signatureOf } from "../time/SeededCrypto.ts"

/** What was signed: the headers of the request, and its body. */
export interface Signed {
  readonly webhook_id: string
  readonly timestamp: string
  readonly body: string
}

const noKey = new Uint8Array()

/** The header by one version of the integration, when the sender's clock says so much. */
export const signatureHeader = (
  { previous_secrets, signing_secret }: Pick<Integration, "previous_secrets" | "signing_secret">,
  { body, timestamp, webhook_id }: Signed,
  clock: number
): string => {
  const secrets = [signing_secret]
  for (const { secret, until } of previous_secrets) if (clock < until) secrets.push(secret)
  const content = `${webhook_id}.${timestamp}.${body}`
  return secrets.map((secret) => `v1,${signatureOf(Signature.keyOf(secret) ?? noKey, content)}`).join(" ")
}

/** The timestamp of a request that is signed when the sender's clock says so much. */
export const timestampAt = (clock: number): string => String(Math.floor(clock / 1_000))
