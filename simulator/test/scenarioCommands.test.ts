/** `--scenario`, `plan --labels`, and `preview` in a narrow terminal, as a user runs them. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CommandFailure, DirectoryDocument } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { drawDay } from "../src/cli/PreviewCommand.ts"
import { platform as platformWith, simulate } from "./simulateCli.ts"

const platform = platformWith()

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "scenario-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true }))
)

const fileWith = Effect.fnUntraced(function* (name: string, text: string) {
  const file = join(yield* folder, name)
  yield* Effect.promise(() => writeFile(file, text))
  return file
})

const house = JSON.stringify({
  name: "mine",
  buildings: [{ name: "House", homes: { flats: 10 }, anomalies: { pin_guessing: 90 } }]
})

const usageError = (effect: Effect.Effect<unknown, unknown>, says: string) =>
  Effect.gen(function* () {
    const failure = yield* Effect.flip(effect)
    assert.instanceOf(failure, CommandFailure)
    assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
    assert.include(failure.message, says)
    assert.notInclude(failure.message, "\n")
  })

describe("--scenario", () => {
  it.live("plans the scenario of the file, with labels in a separate file", () =>
    Effect.gen(function* () {
      const scenario = yield* fileWith("house.json", house)
      const [out, labels] = [`${scenario}.ndjson`, `${scenario}.labels`]
      yield* simulate("plan", "--scenario", scenario, "--duration", "7d", "--out", out, "--labels", labels)
      const linesOf = (file: string) =>
        Effect.promise(async () =>
          (await readFile(file, "utf8"))
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line))
        )
      const events = yield* linesOf(out)
      const found = yield* linesOf(labels)
      assert.isAbove(events.length, 150)
      const ids = new Set(events.map(({ data }) => data.id))
      assert.isTrue(found.every(({ id }) => ids.has(id)))
      const guesses = found.filter(({ label }) => label === "pin_guessing")
      assert.isAbove(guesses.length, 50)
      assert.isTrue(events.every((event) => !("label" in event) && !("label" in event.data)))
    }).pipe(Effect.provide(platform))
  )

  it.live("writes the directory that the plan needs, and never overwrites the scenario", () =>
    Effect.gen(function* () {
      const scenario = yield* fileWith("house.json", house)
      const [out, directory] = [`${scenario}.ndjson`, `${scenario}.directory`]
      yield* simulate("plan", "--scenario", scenario, "--out", out, "--directory", directory)
      const document: unknown = JSON.parse(yield* Effect.promise(() => readFile(directory, "utf8")))
      const read = Result.getOrThrow(DirectoryDocument.fromValue(document))
      const [user, client] = [read.users[0], read.clients[0]]
      assert.deepStrictEqual(
        user?.buildings.map((id) => Number(id)),
        [1]
      )
      assert.match(client?.secret instanceof Object ? Redacted.value(client.secret) : "", /^[\w-]{22}$/)
      const tenants = new Set(read.tenants.map(({ id }) => Number(id)))
      const doors = new Set(read.buildings.flatMap(({ access_points }) => access_points.map(({ id }) => id)))
      const lines = (yield* Effect.promise(() => readFile(out, "utf8"))).trimEnd().split("\n")
      assert.isAbove(lines.length, 10)
      for (const { data, tenant_ids } of lines.map((line) => JSON.parse(line))) {
        for (const tenant of tenant_ids) assert.isTrue(tenants.has(tenant))
        if (data.access_point !== undefined) assert.isTrue(doors.has(data.access_point))
      }
      const over = simulate("plan", "--scenario", scenario, "--directory", scenario)
      yield* usageError(Effect.provide(over, platform), "must not be the same file")
    }).pipe(Effect.provide(platform))
  )

  it.live("reports mistakes with the file and the path", () =>
    Effect.gen(function* () {
      const scenario = yield* fileWith("house.json", '{ "name": "x",\n  "building": [] }')
      yield* usageError(Effect.provide(simulate("plan", "--scenario", scenario), platform), "$.buildings is missing")
      yield* usageError(Effect.provide(simulate("plan", "--scenario", "/nowhere.json"), platform), "/nowhere.json")
      yield* usageError(
        Effect.provide(simulate("plan", "--scenario", scenario, "--preset", "quiet"), platform),
        "can't be used together"
      )
    }).pipe(Effect.provide(platform))
  )
})

describe("an input file", () => {
  it.live.each([
    [
      "plan --scenario FOLDER/house.json --out FOLDER/./house.json",
      "--out FOLDER/./house.json: must not be the same file"
    ],
    [
      "plan --scenario FOLDER/house.json --labels FOLDER/house.json",
      "--labels FOLDER/house.json: must not be the same file"
    ],
    [
      "run --virtual --scenario FOLDER/house.json --report json=FOLDER/house.json",
      "must not be the same file as --scenario FOLDER/house.json"
    ],
    [
      "run --to http://127.0.0.1:1 --operator-key-file FOLDER/key --report html=FOLDER/key",
      "must not be the same file as --operator-key-file "
    ]
  ] as const)("is not overwritten: %s", ([args, says]) =>
    Effect.gen(function* () {
      const path = yield* folder
      const files = { "house.json": house, key: "k" }
      for (const [name, text] of Object.entries(files)) yield* Effect.promise(() => writeFile(join(path, name), text))
      const given = args.replaceAll("FOLDER", path).split(" ")
      yield* usageError(Effect.provide(simulate(...given), platform), says.replaceAll("FOLDER", path))
      for (const [name, text] of Object.entries(files))
        assert.strictEqual(yield* Effect.promise(() => readFile(join(path, name), "utf8")), text)
    }).pipe(Effect.provide(platform))
  )
})

describe("simulate preview", () => {
  it("fits into narrow terminals", () => {
    const hours = Array.from({ length: 24 }, (_, hour) => ({ calls: hour * 7, accesses: hour * 1_000 }))
    for (const columns of [20, 30, 40, 60, 200]) {
      const lines = drawDay(hours, columns).split("\n")
      assert.isAtMost(Math.max(...lines.map((line) => line.length)), Math.max(columns, 27))
    }
    const bars = drawDay(hours, 200)
      .split("\n")
      .map((line) => /[o#]*$/.exec(line)?.[0].length ?? 0)
    assert.strictEqual(Math.max(...bars), 48)
  })
})
