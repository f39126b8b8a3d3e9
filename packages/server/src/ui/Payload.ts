/**
 * The request of a delivery's last attempt, as the receiver got it: headers with the signatures, body, and a command
 * that sends the same again.
 */
import type { Crypto, DeliveryWithAttempts, EventViews, IntegrationWithHealth, Signing } from "@doorhook/core"
import {
  bodyOf,
  DeliveryPolicy,
  DeliveryRequest,
  escapedJson,
  hiddenValue,
  Html,
  RetryPolicy,
  Shell,
  Signature
} from "@doorhook/core"
import type { RetryPolicies } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import type { TextKey } from "./Texts.ts"

/** What doorhook signs requests with. */
export interface Signers {
  readonly crypto: Crypto["Service"]
  readonly retry: RetryPolicies
  readonly signing: Signing
  readonly serviceKey: Redacted.Redacted | null
  readonly views: EventViews.Views
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Formats JSON text with two spaces of indentation. Strings and numbers stay as they are, whatever their length. */
export const formatJson = (text: string): string => {
  let [out, depth] = ["", 0]
  const tokens = text.match(token) ?? []
  for (const [at, part] of tokens.entries()) {
    const isOpening = part === "{" || part === "["
    const isClosing = part === "}" || part === "]"
    const before = tokens[at - 1] ?? ""
    const isEmpty = isClosing && (before === "{" || before === "[")
    if (isClosing) depth -= 1
    if ((isClosing && !isEmpty) || (before === "," && !isClosing)) out += `\n${"  ".repeat(depth)}`
    if ((before === "{" || before === "[") && !isClosing) out += `\n${"  ".repeat(depth)}`
    out += part === ":" ? ": " : part
    if (isOpening) depth += 1
  }
  return out
}

const meanings: Readonly<Record<string, TextKey>> = {
  "content-type": "header_type",
  "user-agent": "header_agent",
  [Signature.headerNames.id]: "header_id",
  [Signature.headerNames.timestamp]: "header_timestamp",
  [Signature.headerNames.attempt]: "header_attempt",
  [Signature.headerNames.expiresAt]: "header_expires"
}

/** The secrets and keys that signed an attempt, each with its name on the page. */
const keysOf = (
  { serviceKey, signing }: Signers,
  { integration }: IntegrationWithHealth,
  at: number
): ReadonlyArray<readonly [TextKey, Redacted.Redacted]> => {
  const [current, ...previous] = DeliveryPolicy.secretsOf(integration, at)
  const withSecret: ReadonlyArray<readonly [TextKey, Redacted.Redacted]> = [
    ...(current === undefined ? [] : [["signed_current", current] as const]),
    ...previous.map((secret) => ["signed_previous", secret] as const)
  ]
  return [
    ...(signing === "hmac" || signing === "both" ? withSecret : []),
    ...(serviceKey !== null && (signing === "ed25519" || signing === "both")
      ? [["signed_key", serviceKey] as const]
      : [])
  ]
}

/** Makes the panel with the request of the last attempt, or of the first if none was made yet. */
export const requestPanel = (
  { language, now }: Visit,
  { attempts, event, event_id, history }: DeliveryWithAttempts,
  found: IntegrationWithHealth | null,
  signers: Signers
): Effect.Effect<Html.Html | null> =>
  Effect.gen(function* () {
    if (event === null) return null
    const { t } = language
    const last = history.at(-1)
    const signedAt = last?.started_at ?? now
    const body = bodyOf(found === null ? event : signers.views.ofIntegration(found.integration, event))
    const keys = found === null ? [] : keysOf(signers, found, signedAt)
    const policy = RetryPolicy.policyOf(signers.retry, event.resource_type)
    const headers = yield* DeliveryRequest.headersOf(
      signers.crypto,
      {
        id: event_id,
        attempt: last?.number ?? attempts + 1,
        signedAt,
        expiresAt: RetryPolicy.expiryOf(policy, event.created_at),
        isReplay: false,
        body
      },
      keys.map(([, key]) => key)
    )
    const own = Object.keys(found?.integration.overrides.headers ?? {})
    const signatures = (headers[Signature.headerNames.signature] ?? "").split(" ")
    const rows = [
      ...Object.entries(headers).map(
        ([name, value]) => [name, value, t(meanings[name] ?? "header_signature")] as const
      ),
      ...own.map((name) => [name, hiddenValue, t("header_own")] as const)
    ].map(([name, value, meaning]) => [
      Html.template`<span class="mono whole">${name}</span>`,
      Html.template`<span class="mono">${value}</span><span class="under">${meaning}</span>`
    ])
    const url = found?.integration.configuration.url ?? null
    const curl = [
      `curl -X POST ${Shell.quote(url ?? "")}`,
      ...Object.entries(headers).map(([name, value]) => `  -H ${Shell.quote(`${name}: ${value}`)}`),
      `  --data-binary ${Shell.quote(body)}`
    ].join(" \\\n")
    const signed = keys.map(
      ([name], at) => [t(name), Html.template`<code id="signature-${at}">${signatures[at] ?? ""}</code>`] as const
    )
    return Parts.panel(
      "sent",
      t("request"),
      Html.template`${url === null ? null : Html.template`<p class="mono">POST ${url}</p>`}
<div class="row apart"><h3 id="payload">${t("body")}</h3>${Parts.copyButton(language, "body")}</div>
<pre tabindex="0" id="body" aria-labelledby="payload">${escapedJson(formatJson(body))}</pre>
<details id="headers"><summary>${t("headers")}</summary>${Parts.table(t("headers"), [t("header"), t("value")], rows, "")}</details>
${
  signed.length === 0
    ? null
    : Html.template`<details id="signed"><summary>${t("signature")}</summary><p>${t(last === undefined ? "signature_first" : "signature_last")}</p>
${Parts.facts(signed)}<p class="muted">${t("signature_content")}</p>
<code>${`${event_id}.${headers[Signature.headerNames.timestamp] ?? ""}.`}<i>${t("body")}</i></code></details>`
}
${
  url === null
    ? null
    : Html.template`<details id="curl"><summary>${t("as_curl")}</summary><p class="muted">${t("as_curl_hint")}</p>
<pre tabindex="0" id="command" aria-label="curl">${curl}</pre><p class="row">${Parts.copyButton(language, "command")}</p></details>`
}`
    )
  })
