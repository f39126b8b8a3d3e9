/**
 * Code that verifies signatures in a receiver. Tests run each snippet if its language is installed.
 */

export interface Snippet {
  /** The language's name in the page's query. */
  readonly id: string
  readonly language: string
  readonly code: string
}

/** Code that verifies signatures with an integration's secret, in the most common languages. */
export const snippets: ReadonlyArray<Snippet> = [
  {
    id: "node",
    language: "Node.js",
    // One string per line, because tools would treat an `import` line in a longer text as an import of this file.
    code: [
      "// npm install @doorhook/receiver",
      'import { createReceiver, isExpired, memoryStore } from "@doorhook/receiver"',
      'import { createServer } from "node:http"',
      "",
      "// In production, use sqliteStore or postgresStore: memoryStore loses its contents at a restart.",
      "const receiver = createReceiver({",
      "  secrets: [process.env.WEBHOOK_SECRET],",
      "  store: memoryStore(),",
      "  work: async (delivery) => {",
      "    // Too late to ring anybody.",
      "    if (isExpired(delivery) || delivery.isReplay) return",
      "    console.log(delivery.id, delivery.event.resource_type, delivery.event.data)",
      "  }",
      "})",
      "receiver.start()",
      "createServer(receiver.node).listen(9000)",
      ""
    ].join("\n")
  },
  {
    id: "python",
    language: "Python",
    code: `import base64, hmac, time

def is_genuine(secret, headers, body):
    """headers: by lower-case name; body: the raw bytes, before parsing"""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    timestamp = headers.get("webhook-timestamp", "")
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
    given = headers.get("webhook-signature", "").encode().split(b" ")
    fresh = timestamp.isdecimal() and abs(time.time() - int(timestamp)) <= 300
    return fresh and any([hmac.compare_digest(one, expected) for one in given])
`
  },
  {
    id: "php",
    language: "PHP",
    code: `<?php
// $headers: by lower-case name; $body: file_get_contents('php://input'), before parsing
function isGenuine(string $secret, array $headers, string $body): bool
{
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $fresh = ctype_digit($timestamp) && abs(time() - (int) $timestamp) <= 300;
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $signature) {
        if (hash_equals($expected, $signature)) {
            return $fresh;
        }
    }
    return false;
}
`
  },
  {
    id: "go",
    language: "Go",
    code: `package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// IsGenuine verifies a request. It needs the raw body, before parsing.
func IsGenuine(secret string, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return false
	}
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), timestamp, body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), expected) {
			return true
		}
	}
	return false
}
`
  },
  {
    id: "ruby",
    language: "Ruby",
    code: `require "openssl"

# headers: names in lower case; body: as it came, before it is parsed
def genuine?(secret, headers, body)
  key = secret.delete_prefix("whsec_").unpack1("m0")
  id, timestamp, signatures = headers.values_at("webhook-id", "webhook-timestamp", "webhook-signature").map(&:to_s)
  return false unless timestamp.match?(/\\A\\d+\\z/) && (Time.now.to_i - timestamp.to_i).abs <= 300

  expected = "v1," + [OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.".b + body.b)].pack("m0")
  signatures.split(" ").any? { |one| OpenSSL.secure_compare(one, expected) }
end
`
  }
]

/** Code that verifies signatures with the service's public key. */
export const keySnippets: ReadonlyArray<Snippet> = [
  {
    id: "node",
    language: "Node.js",
    // One string per line, as above.
    code: [
      'import { createPublicKey, verify } from "node:crypto"',
      "",
      "// publicKey: whpk_...; headers: by lower-case name; body: the raw bytes, before parsing",
      "export const isGenuine = (publicKey, headers, body) => {",
      '  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers',
      "  if (!id || !signatures || !/^\\d{1,12}$/.test(timestamp)) return false",
      "  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false",
      '  const x = Buffer.from(publicKey.replace("whpk_", ""), "base64").toString("base64url")',
      '  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })',
      "  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body])",
      '  return signatures.split(" ").some((signature) => {',
      '    const given = Buffer.from(signature.replace("v1a,", ""), "base64")',
      '    return signature.startsWith("v1a,") && verify(null, content, key, given)',
      "  })",
      "}",
      ""
    ].join("\n")
  }
]
