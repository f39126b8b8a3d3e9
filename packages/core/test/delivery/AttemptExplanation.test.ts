import type { Attempt } from "@doorhook/core"
import { english, Explanation } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { attemptOf } from "./fixtures.ts"

/** Attempts with their expected explanations: what happened, and what to do. */
const examples: ReadonlyArray<readonly [outcome: Attempt["outcome"], seen: Partial<Attempt>, said: string]> = [
  ["acknowledged", { status: 200 }, "The receiver acknowledged with 200 after 5 ms."],
  ["acknowledged", { status: 204 }, "The receiver acknowledged with 204 after 5 ms."],
  [
    "bad_status",
    { status: 204 },
    "The receiver answered 204: only 200 acknowledges. Change the receiver to answer 200, or accept any 2xx for this integration (setting acknowledge: 2xx)."
  ],
  [
    "bad_status",
    { status: 302 },
    "The receiver answered 302: a redirect, and redirects are not followed. Change the integration's URL to the final address."
  ],
  [
    "bad_status",
    { status: 307, detail: "points to https://doors.example/hook" },
    "The receiver answered 307: a redirect, and redirects are not followed. Change the integration's URL to the final address. It points to https://doors.example/hook."
  ],
  [
    "bad_status",
    { status: 401 },
    "The receiver answered 401: it rejects the signature, or requires credentials that the delivery does not carry. Check that the receiver has this integration's current signing secret and the right time, and that it verifies the raw body, before parsing."
  ],
  [
    "bad_status",
    { status: 403 },
    "The receiver answered 403: it refuses access. It can recognize deliveries by their signature; a firewall may need the service's addresses."
  ],
  [
    "bad_status",
    { status: 404 },
    "The receiver answered 404: there is nothing at the integration's URL. Check the URL."
  ],
  [
    "bad_status",
    { status: 405 },
    "The receiver answered 405: it does not accept POST requests at the integration's URL. Check the URL."
  ],
  ["bad_status", { status: 413 }, "The receiver answered 413: the event is larger than it accepts."],
  ["bad_status", { status: 418 }, "The receiver answered 418: it does not accept the request."],
  [
    "bad_status",
    { status: 429, detail: "asked to wait 1m (Retry-After)" },
    "The receiver answered 429: it gets too many requests. Limit those to this integration with requests-per-second. It asked to wait 1m (Retry-After)."
  ],
  ["bad_status", { status: 500 }, "The receiver answered 500: something failed inside it. Check its log."],
  ["bad_status", { status: 502 }, "The receiver answered 502: a proxy in front of it could not reach it."],
  ["bad_status", { status: 503 }, "The receiver answered 503: it is unavailable for now."],
  [
    "bad_status",
    { status: 503, detail: "asked to wait 2h (Retry-After)" },
    "The receiver answered 503: it is unavailable for now. It asked to wait 2h (Retry-After); at most 1h is respected."
  ],
  ["bad_status", { status: 504 }, "The receiver answered 504: a proxy in front of it got no answer from it."],
  ["bad_status", { status: 599 }, "The receiver answered 599: something failed inside it. Check its log."],
  ["bad_status", { status: 999 }, "The receiver answered 999."],
  [
    "timeout",
    { detail: "no answer within 5000 ms" },
    "The receiver did not send complete response headers in time (no answer within 5000 ms). It should answer first and process the event afterwards."
  ],
  [
    "timeout",
    { status: 200, duration_ms: 5_004 },
    "The receiver answered 200, but too late: after 5004 ms. It should answer first and process the event afterwards."
  ],
  [
    "connection_refused",
    { detail: "ECONNREFUSED" },
    "The receiver could not be reached (ECONNREFUSED). Check that it runs and can be reached from here."
  ],
  ["connection_reset", {}, "The connection to the receiver broke. Check its log and that of any proxy in front of it."],
  ["dns", {}, "The name in the integration's URL has no address. Check the URL and the name's DNS entries."],
  [
    "tls",
    { detail: "certificate has expired" },
    "No secure connection to the receiver was possible (certificate has expired). Its certificate must be valid now, for the name in the URL, and issued by a known authority: add your own with ca-file."
  ],
  [
    "blocked_address",
    { detail: "10.0.0.1" },
    "This attempt was not sent, because the address is not allowed (10.0.0.1). An operator can allow its network, for the service or for this integration (allow-target)."
  ],
  ["invalid_response", { status: 200 }, "The receiver's answer is not valid HTTP. Check what listens at the URL."]
]

describe("an attempt, explained to an owner", () => {
  it.each([
    [
      "bad_status",
      { status: 204 },
      "The receiver answered 204: only 200 acknowledges. Change the receiver to answer 200."
    ],
    [
      "bad_status",
      { status: 429, detail: "asked to wait 1m (Retry-After)" },
      "The receiver answered 429: it gets too many requests."
    ],
    // The request might not have reached the receiver.
    [
      "timeout",
      { detail: "no answer within 5000 ms; the connection was not open" },
      "No answer arrived in time. Check that the receiver can be reached, and that it answers before it processes the event."
    ],
    [
      "timeout",
      { status: 200, duration_ms: 5_004 },
      "The receiver answered 200, but too late: after 5004 ms. It should answer first and process the event afterwards."
    ],
    [
      "tls",
      { detail: "certificate has expired" },
      "No secure connection to the receiver was possible. Its certificate must be valid now, for the name in the URL, and issued by a known authority."
    ],
    [
      "blocked_address",
      { detail: "10.0.0.1" },
      "This attempt was not sent, because the address is not allowed. Give the integration a URL with a public address, or ask the operator of this service to allow this one."
    ]
  ] as const)("%s %j: what they can do, and nothing of the service's network", (outcome, fields, said) => {
    assert.strictEqual(english(...Explanation.explainAttempt(attemptOf(outcome, fields), "owner")), said)
  })
})

describe("an attempt, explained", () => {
  for (const [outcome, fields, expected] of examples)
    it(`${outcome}: ${expected}`, () =>
      assert.strictEqual(english(...Explanation.explainAttempt(attemptOf(outcome, fields))), expected))
})
