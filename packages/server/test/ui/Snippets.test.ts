/**
 * Runs the code that owners copy, in each language that is installed.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { createHmac, randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { snippets } from "../../src/ui/Snippets.ts"

const codeOf = (id: string): string => snippets.find((one) => one.id === id)?.code ?? ""

const secret = `whsec_${randomBytes(32).toString("base64")}`
const body = `{"event":{"resource_type":"access_log","action":"create","data":{"name":"Zoë"}}}`
const now = String(Math.floor(Date.now() / 1_000))

const sign = (timestamp: string): string =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`evt_1.${timestamp}.${body}`)
    .digest("base64")}`

/** Headers of each request, and whether the request is genuine. */
const requests: ReadonlyArray<readonly [Readonly<Record<string, string>>, boolean]> = [
  [{ "webhook-id": "evt_1", "webhook-timestamp": now, "webhook-signature": `v1,AAAA ${sign(now)}` }, true],
  [{ "webhook-id": "evt_2", "webhook-timestamp": now, "webhook-signature": sign(now) }, false],
  [{ "webhook-id": "evt_1", "webhook-timestamp": "1000", "webhook-signature": sign("1000") }, false],
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

describe("the code that verifies signatures", () => {
  for (const [id, { command, file, rest }] of Object.entries(programs)) {
    const [program = "", ...args] = command
    it.skipIf(!isInstalled(program))(`distinguishes genuine requests from forged ones in ${id}`, () => {
      const folder = mkdtempSync(join(tmpdir(), "doorhook-snippet-"))
      try {
        const code = codeOf(id)
          .replace("package webhook", "package main")
          .replace('\t"fmt"\n', '\t"encoding/json"\n\t"fmt"\n\t"os"\n')
        writeFileSync(join(folder, file), code + rest)
        const input = JSON.stringify(requests.map(([headers]) => headers))
        const { stderr, stdout } = spawnSync(program, [...args, secret, input, body], { cwd: folder, encoding: "utf8" })
        assert.strictEqual(stdout, requests.map(([, isGenuine]) => `${isGenuine}\n`).join(""), stderr)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  }

  it("uses the package for Node.js", () => {
    assert.include(codeOf("node"), 'from "@doorhook/receiver"')
  })
})
