/**
 * Correct receivers, the ones of the documentation, in every language that this machine has: none of them is failed.
 *
 * They run at the same time, each as a process of its own: most of a run is waiting. Usually some requirements of each
 * kind are tested; `CONFORMANCE_SEEDS=20` tests all of them, so many times.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { probeOf } from "../src/receivers/Controls.ts"
import { operate } from "../src/receivers/Operated.ts"
import { render } from "../src/report/Console.ts"
import { runSuite } from "../src/run/RunSuite.ts"

const secret = "whsec_ZG9vcmhvb2stZXhhbXBsZS1yZWNlaXZlcg=="

const example = (path: string): string =>
  fileURLToPath(new URL(`../../docs/examples/receivers/${path}`, import.meta.url))

const { CONFORMANCE_SEEDS } = process.env
const seeds = Array.from({ length: Number(CONFORMANCE_SEEDS ?? 1) }, (_, index) => index + 1)

/** What is tested where no number of seeds is asked for. */
const some = [
  "R-ACK-*",
  "R-DUP-01",
  "R-DUP-02",
  "R-LOS-01",
  "R-FWD-02",
  "R-SIG-02",
  "R-SIG-06",
  "R-HTTP-01",
  "R-HTTP-03",
  "R-CRA-03"
]

const setting = CONFORMANCE_SEEDS === undefined ? { only: some, maxTime: 30_000 } : { maxTime: 120_000 }

interface Language {
  readonly name: string
  /** What must answer for the language to be there. */
  readonly needs: readonly [command: string, ...args: ReadonlyArray<string>]
  readonly run: readonly [command: string, ...args: ReadonlyArray<string>]
  /** Whether its probe says what was stored. */
  readonly digest: boolean
}

const languages: ReadonlyArray<Language> = [
  {
    name: "TypeScript",
    needs: ["node", "--version"],
    run: [process.execPath, "--no-warnings", example("typescript/receiver.ts")],
    digest: true
  },
  {
    name: "TypeScript with the kit",
    needs: ["node", "--version"],
    run: [process.execPath, "--no-warnings", "--conditions=source", example("typescript/with-kit.ts")],
    digest: false
  },
  { name: "Python", needs: ["python3", "--version"], run: ["python3", example("python/receiver.py")], digest: true },
  { name: "Java", needs: ["javac", "-version"], run: ["java", example("java/Receiver.java")], digest: false },
  { name: "Go", needs: ["go", "version"], run: ["go", "run", example("go/receiver.go")], digest: true },
  {
    name: "Ruby",
    needs: ["ruby", "-rwebrick", "--version"],
    run: ["ruby", example("ruby/receiver.rb")],
    digest: false
  },
  {
    name: "PHP",
    needs: ["php", "--version"],
    run: ["sh", "-c", 'exec php -q -S "127.0.0.1:$PORT" "$0"', example("php/receiver.php")],
    digest: false
  }
]

const isThere = ({ needs: [command, ...args] }: Language): boolean => spawnSync(command, args).status === 0

/** `go run` leaves a process behind when it is killed: what it builds is started instead. */
const builtGo = (folder: string): ReadonlyArray<string> => {
  const binary = join(folder, "receiver")
  const { status, stderr } = spawnSync("go", ["build", "-o", binary, example("go/receiver.go")], { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
  return [binary]
}

const tried = Effect.fnUntraced(function* ({ name, run }: Language, seed: number) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "doorhook-language-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const [command = "", ...args] = name === "Go" ? builtGo(folder) : run
  const { hooks, origin } = yield* operate({
    command,
    args,
    control: false,
    env: {
      DATABASE: join(folder, "receiver.db"),
      JOURNAL: join(folder, "receiver.jsonl"),
      FOLDER: join(folder, "received"),
      WEBHOOK_SECRET: secret,
      WITH_PROBE: "1",
      PHP_CLI_SERVER_WORKERS: "4"
    }
  })
  return yield* runSuite({
    url: new URL("/hook", origin),
    level: 3,
    profiles: ["signed"],
    probe: probeOf(origin),
    hooks,
    secret: Redacted.make(secret),
    settle: 5_000,
    seed,
    ...setting
  })
}, Effect.scoped)

describe("correct receivers", () => {
  const here = languages.filter(isThere)
  const missing = languages.filter((language) => !here.includes(language)).map(({ name }) => name)
  if (missing.length > 0)
    process.stderr.write(`\n!!! NOT ON THIS MACHINE, SKIPPED: receivers in ${missing.join(", ")}\n\n`)

  it.live(
    `in ${here.map(({ name }) => name).join(", ")} are not failed at any level`,
    () =>
      Effect.gen(function* () {
        for (const seed of seeds) {
          const reports = yield* Effect.forEach(here, (language) => tried(language, seed), { concurrency: 4 })
          for (const [index, report] of reports.entries()) {
            const story = `${here[index]?.name}, seed ${seed}: ${render(report)}`
            const verdicts = report.requirements.map(({ verdict }) => verdict)
            // Where the machine is busy, not everything can be decided in the time; but nothing may be found wrong.
            for (const wrong of ["FAIL", "WARN", "ERROR"] as const) assert.notInclude(verdicts, wrong, story)
            assert.notStrictEqual(report.ended, "target_unusable", story)
            assert.include(verdicts, "PASS", story)
            assert.strictEqual(report.calibration.probe?.digest, here[index]?.digest, story)
          }
        }
      }),
    seeds.length * 600_000
  )
})
