/**
 * Runs the code that owners copy, in each language that is installed.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { createHmac, generateKeyPairSync, randomBytes, sign as signWith } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { keySnippets, snippets } from "../../src/ui/Snippets.ts"

const codeOf = (id: string): string => snippets.find((one) => one.id === id)?.code ?? ""

const secret = `whsec_${randomBytes(32).toString("base64")}`
const body = `{"event":{"resource_type":"access_log","action":"create","data":{"name":"Zoë"}}}`
const now = String(Math.floor(Date.now() / 1_000))

const sign = (timestamp: string): string =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`evt_1.${timestamp}.${body}`)
    .digest("base64")}`

/** Returns the headers of requests, and whether each request is genuine. `version` is the signature's prefix. */
const requestsOf = (
  version: string,
  signed: (timestamp: string) => string
): ReadonlyArray<readonly [Readonly<Record<string, string>>, boolean]> => [
  [{ "webhook-id": "evt_1", "webhook-timestamp": now, "webhook-signature": `${version},AAAA ${signed(now)}` }, true],
  [{ "webhook-id": "evt_2", "webhook-timestamp": now, "webhook-signature": signed(now) }, false],
  [{ "webhook-id": "evt_1", "webhook-timestamp": "1000", "webhook-signature": signed("1000") }, false],
  [{ "webhook-id": "evt_1", "webhook-timestamp": now }, false],
  [{}, false]
]

/** A program that prints `true` or `false` for each request, using only its language's libraries. */
const programs: Readonly<
  Record<string, { readonly file: string; readonly command: ReadonlyArray<string>; readonly rest: string }>
> = {
  python: {
    file: "check.py",
    command: ["python3", "check.py"],
    rest: `
import json, sys
for headers in json.loads(sys.argv[2]):
    print(str(is_genuine(sys.argv[1], headers, sys.argv[3].encode())).lower())
`
  },
  php: {
    file: "check.php",
    command: ["php", "check.php"],
    rest: `
foreach (json_decode($argv[2], true) as $headers) {
    echo json_encode(isGenuine($argv[1], $headers, $argv[3])), "\\n";
}
`
  },
  ruby: {
    file: "check.rb",
    command: ["ruby", "check.rb"],
    rest: `
require "json"
JSON.parse(ARGV[1]).each { |headers| puts genuine?(ARGV[0], headers, ARGV[2]) }
`
  },
  go: {
    file: "check.go",
    command: ["go", "run", "check.go"],
    rest: `
func main() {
	var all []map[string]string
	json.Unmarshal([]byte(os.Args[2]), &all)
	for _, each := range all {
		header := http.Header{}
		for name, value := range each {
			header.Set(name, value)
		}
		fmt.Println(IsGenuine(os.Args[1], header, []byte(os.Args[3])))
	}
}
`
  }
}

const isInstalled = (command: string): boolean =>
  spawnSync(command, [command === "go" ? "version" : "--version"]).status === 0

/** The output of a program that distinguishes these requests. */
const verdictsOf = (requests: ReturnType<typeof requestsOf>): string =>
  requests.map(([, isGenuine]) => `${isGenuine}\n`).join("")

/** Runs a program in a folder with only its file. */
const run = (
  { command: [program = "", ...args], file }: { readonly command: ReadonlyArray<string>; readonly file: string },
  code: string,
  key: string,
  requests: ReturnType<typeof requestsOf>
) => {
  const folder = mkdtempSync(join(tmpdir(), "doorhook-snippet-"))
  try {
    writeFileSync(join(folder, file), code)
    const input = JSON.stringify(requests.map(([headers]) => headers))
    return spawnSync(program, [...args, key, input, body], { cwd: folder, encoding: "utf8" })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("the code that verifies signatures", () => {
  for (const [id, { command, file, rest }] of Object.entries(programs)) {
    it.skipIf(!isInstalled(command[0] ?? ""))(`distinguishes genuine requests from forged ones in ${id}`, () => {
      const code = codeOf(id)
        .replace("package webhook", "package main")
        .replace('\t"fmt"\n', '\t"encoding/json"\n\t"fmt"\n\t"os"\n')
      const requests = requestsOf("v1", sign)
      const { stderr, stdout } = run({ command, file }, code + rest, secret, requests)
      assert.strictEqual(stdout, verdictsOf(requests), stderr)
    })
  }

  it("uses the package for Node.js", () => {
    assert.include(codeOf("node"), 'from "@doorhook/receiver"')
  })

  it("distinguishes genuine requests from forged ones by the service's public key in Node.js", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519")
    const { x = "" } = publicKey.export({ format: "jwk" })
    const key = `whpk_${Buffer.from(x, "base64url").toString("base64")}`
    const signed = (timestamp: string) =>
      `v1a,${signWith(null, Buffer.from(`evt_1.${timestamp}.${body}`), privateKey).toString("base64")}`
    const withSecret = { "webhook-id": "evt_1", "webhook-timestamp": now, "webhook-signature": sign(now) }
    const rest = `
const [key, requests, body] = process.argv.slice(2)
for (const headers of JSON.parse(requests)) console.log(isGenuine(key, headers, Buffer.from(body)))
`
    const code = (keySnippets.find(({ id }) => id === "node")?.code ?? "") + rest
    const requests = [...requestsOf("v1a", signed), [withSecret, false] as const]
    const program = { command: [process.execPath, "check.mjs"], file: "check.mjs" }
    const { stderr, stdout } = run(program, code, key, requests)
    assert.strictEqual(stdout, verdictsOf(requests), stderr)
  })
})
