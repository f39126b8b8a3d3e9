/**
 * Correct receivers, the ones of the documentation, in every language that this machine has: none of them is failed.
 *
 * They run at the same time, each as a process of its own: most of a run is waiting. Usually some requirements of each
 * kind are tested; `CONFORMANCE_SEEDS=20` tests all of them, so many times.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { httpProbe } from "../src/probes/HttpProbe.ts"
import { operate } from "../src/mutants/Trial.ts"
import { render } from "../src/report/Console.ts"
import { run } from "./support/run.ts"

const secret = "whsec_ZG9vcmhvb2stZXhhbXBsZS1yZWNlaXZlcg=="

const example = (path: string): string =>
  fileURLToPath(new URL(`../../docs/examples/receivers/${path}`, import.meta.url))

const { CONFORMANCE_SEEDS } = process.env
const seeds = Array.from({ length: Number(CONFORMANCE_SEEDS ?? 1) }, (_, index) => index + 1)

/** What is tested where no number of seeds is asked for. */
const some = [
  "R-ACK-02",
  "R-ACK-04",
  "R-DUP-01",
  "R-DUP-04",
  "R-FWD-02",
  "R-SIG-02",
  "R-SIG-06",
  "R-HTTP-01",
  "R-HTTP-03",
  "R-CRA-03"
]

const setting = CONFORMANCE_SEEDS === undefined ? { only: some, maxTime: 60_000, pace: 0.05 } : { maxTime: 120_000 }

interface Language {
  readonly name: string
  /** What must answer for the language to be there. */
  readonly needs: readonly [command: string, ...args: ReadonlyArray<string>]
  readonly run: readonly [command: string, ...args: ReadonlyArray<string>]
}

const languages: ReadonlyArray<Language> = [
  {
    name: "TypeScript",
    needs: ["node", "--version"],
    run: [process.execPath, "--no-warnings", example("typescript/receiver.ts")]
  },
  {
    name: "TypeScript with @doorhook/receiver",
    needs: ["node", "--version"],
    run: [process.execPath, "--no-warnings", "--conditions=source", example("typescript/with-kit.ts")]
  },
  { name: "Python", needs: ["python3", "--version"], run: ["python3", example("python/receiver.py")] },
  { name: "Java", needs: ["javac", "-version"], run: ["java", example("java/Receiver.java")] },
  { name: "Go", needs: ["go", "version"], run: ["go", "run", example("go/receiver.go")] },
  {
    name: "Ruby",
    needs: ["ruby", "-rwebrick", "--version"],
    run: ["ruby", example("ruby/receiver.rb")]
  },
  {
    name: "PHP",
    needs: ["php", "--version"],
    run: ["sh", "-c", 'exec php -q -S "127.0.0.1:$PORT" "$0"', example("php/receiver.php")]
  }
]

const isThere = ({ needs: [command, ...args] }: Language): boolean => spawnSync(command, args).status === 0

const built = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] })
    const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, "close")])
    assert.strictEqual(code, 0, complaints)
  })

/** What is compiled anew at each start otherwise. `go run` leaves a process behind when it is killed, too. */
const commandOf = Effect.fnUntraced(function* ({ name, run }: Language, folder: string) {
  switch (name) {
    case "Go":
      yield* built("go", "build", "-o", join(folder, "receiver"), example("go/receiver.go"))
      return [join(folder, "receiver")]
    case "Java":
      yield* built("javac", "-d", folder, example("java/Receiver.java"))
      return ["java", "-cp", folder, "Receiver"]
    default:
      return run
  }
})

const tried = Effect.fnUntraced(function* (language: Language, seed: number) {
  const folder = yield* temporaryFolder
  const [command = "", ...args] = yield* commandOf(language, folder)
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
  return yield* run({
    url: new URL("/hook", origin),
    level: 3,
    profile: ["signed"],
    probe: httpProbe(new URL("/probe", origin)),
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
            // Numbers that are longer than a double are rounded in the digests of most languages: a SHOULD of R-FWD-02.
            const verdicts = report.requirements
              .filter(
                ({ id, observed, verdict }) =>
                  !(id === "R-FWD-02" && verdict === "WARN" && /was rounded to a double/.test(observed))
              )
              .map(({ verdict }) => verdict)
            // Where the machine is busy, not everything can be decided in the time; but nothing may be found wrong.
            for (const wrong of ["FAIL", "WARN", "ERROR"] as const) assert.notInclude(verdicts, wrong, story)
            assert.notStrictEqual(report.ended, "target_unusable", story)
            assert.include(verdicts, "PASS", story)
            assert.isTrue(report.calibration.probe?.digest, story)
          }
        }
      }),
    seeds.length * 600_000
  )
})
