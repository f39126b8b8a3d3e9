/**
 * Rehearses a release: the release command publishes all packages to a local registry, and npm installs them from this
 * registry.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { cpSync, existsSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../../..", import.meta.url))
const changeset = join(root, "node_modules/.bin/changeset")
const { scripts } = Schema.decodeUnknownSync(Schema.Struct({ scripts: Schema.Record(Schema.String, Schema.String) }))(
  JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
)

/** Error codes in npm's output when it can't reach a registry. */
const unreachable = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/

/** Whether an installation succeeded. Prints a note and returns false if no registry can be reached. */
export const reachingRegistry = async (what: string, installation: Promise<unknown>): Promise<boolean> => {
  try {
    await installation
    return true
  } catch (error) {
    if (!unreachable.test(String(error))) throw error
    process.stderr.write(`SKIPPED: ${what}: no package registry (${String(error)})\n`)
    return false
  }
}

/**
 * Copies Effect from this checkout into a project, because npm needs longer to extract its thousands of files. npm removes
 * the copy if no installed package depends on it.
 */
export const copyEffect = (project: string): void =>
  cpSync(join(root, "node_modules/effect"), join(project, "node_modules/effect"), { recursive: true })

const Manifest = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  private: Schema.optional(Schema.Boolean),
  description: Schema.optional(Schema.String),
  keywords: Schema.optional(Schema.Array(Schema.String)),
  license: Schema.String,
  dependencies: Schema.optional(Schema.Record(Schema.String, Schema.String)),
  devDependencies: Schema.optional(Schema.Record(Schema.String, Schema.String)),
  peerDependencies: Schema.optional(Schema.Record(Schema.String, Schema.String))
})
type Manifest = typeof Manifest.Type

const manifestFiles = globSync(["packages/*/package.json", "{simulator,conformance}/package.json"], { cwd: root })

const changelogs = globSync("{packages/*,simulator,conformance}/CHANGELOG.md", { cwd: root })

/** Returns the manifests of the published packages in a checkout. */
const releasedIn = (folder: string): ReadonlyArray<Manifest> =>
  manifestFiles
    .map((file) => Schema.decodeUnknownSync(Manifest)(JSON.parse(readFileSync(join(folder, file), "utf8"))))
    .filter((manifest) => manifest.private !== true)

/** Returns the versions of doorhook's packages that a package depends on. */
const ownVersions = ({ dependencies, devDependencies, peerDependencies }: Manifest): ReadonlyArray<string> =>
  Object.entries({ ...dependencies, ...devDependencies, ...peerDependencies }).flatMap(([name, version]) =>
    /^@?doorhook/.test(name) ? [version] : []
  )

const filesIn = async (archive: string): Promise<ReadonlyArray<string>> =>
  (await run("tar", ["-tzf", archive])).stdout.trim().split("\n")

/** Tests a release of the built packages. */
export const describeRelease = (): void => {
  it.live("is published with its command, and installed with npm", (context) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const registry = join(folder, "registry")
        const upstream = (yield* Effect.promise(() => run("npm", ["config", "get", "registry"]))).stdout.trim()
        const { printed } = yield* startNode([
          fileURLToPath(new URL("Registry.ts", import.meta.url)),
          registry,
          "--upstream",
          upstream
        ])
        const [, url = ""] = yield* Effect.promise(() => printed(/listening on (http:\S+)/))
        const settings = [
          `registry=${url}`,
          `${url.replace("http:", "")}:_authToken=rehearsal`,
          "replace-registry-host=never"
        ]
        writeFileSync(join(folder, "npmrc"), settings.join("\n"))
        const env = { ...process.env, NO_COLOR: "1", npm_config_userconfig: join(folder, "npmrc") }

        const released = releasedIn(root)
        const [{ version } = { version: "" }] = released
        for (const file of changelogs) assert.include(readFileSync(join(root, file), "utf8"), `\n## ${version}\n`, file)
        // Only a build service can prove provenance.
        const rehearsing = { ...env, npm_config_provenance: "false" }
        assert.match(scripts["release"] ?? "", /changeset publish$/)
        yield* Effect.promise(() => run(changeset, ["publish", "--no-git-tag"], { cwd: root, env: rehearsing }))
        for (const manifest of released) {
          const { description, keywords, license, name } = manifest
          assert.strictEqual(license, "MIT", name)
          assert.isNotEmpty(description, name)
          assert.isNotEmpty(keywords, name)
          for (const own of ownVersions(manifest)) assert.strictEqual(own, version, name)
          const [archive = ""] = globSync(join(registry, name, `*-${version}.tgz`))
          const files = yield* Effect.promise(() => filesIn(archive))
          for (const file of [
            "CHANGELOG.md",
            "LICENSE",
            "README.md",
            "package.json",
            "dist/index.js",
            "dist/index.d.ts"
          ]) {
            assert.include(files, `package/${file}`, name)
          }
          assert.deepStrictEqual(
            files.filter((file) => /\/test\/|\.test\.|tsbuildinfo/.test(file)),
            [],
            name
          )
        }

        const project = join(folder, "my-backend")
        copyEffect(project)
        writeFileSync(join(project, "package.json"), "{}")
        const npm = (...args: ReadonlyArray<string>) => run("npm", [...args], { cwd: project, env })
        const install = npm("install", "--no-audit", "--prefer-offline", "doorhook")
        const isInstalled = yield* Effect.promise(() => reachingRegistry("an installed release", install))
        if (!isInstalled) return context.skip()
        const { stdout } = yield* Effect.promise(() => run("npx", ["doorhook", "--version"], { cwd: project, env }))
        assert.include(stdout, version)
        for (const separate of ["simulator", "conformance"]) {
          assert.isFalse(existsSync(join(project, "node_modules/@doorhook", separate)), separate)
        }
        // Fails if a package is missing or incompatible.
        yield* Effect.promise(() => npm("ls", "--all"))
      })
    )
  )

  it("proves the origin of its packages", async () => {
    const { stdout } = await run("npm", ["config", "get", "provenance"], { cwd: root })
    assert.strictEqual(stdout, "true\n")
  })

  it.live("gives all packages the same version, and each a changelog", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const copy = yield* temporaryFolder
        const git = (...args: ReadonlyArray<string>) =>
          run("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...args], { cwd: copy })
        for (const file of [".changeset", "package.json", "package-lock.json", "docs/package.json", ...manifestFiles]) {
          cpSync(join(root, file), join(copy, file), { recursive: true })
        }
        writeFileSync(join(copy, ".changeset/a-change.md"), '---\n"@doorhook/sql": minor\n---\n\nKeep more.\n')
        yield* Effect.promise(async () => {
          await git("init", "--quiet")
          await git("add", "--all")
          await git("commit", "--quiet", "--message", "Change something")
          await run(changeset, ["version"], { cwd: copy })
        })
        const before = releasedIn(root)
        const after = releasedIn(copy)
        const versions = new Set(after.flatMap((manifest) => [manifest.version, ...ownVersions(manifest)]))
        assert.strictEqual(versions.size, 1)
        assert.isFalse(versions.has(before[0]?.version ?? ""))
        assert.lengthOf(globSync("{packages/*,simulator,conformance}/CHANGELOG.md", { cwd: copy }), after.length)
        const sql = join(copy, "packages/sql")
        assert.include(readFileSync(join(sql, "CHANGELOG.md"), "utf8"), "Keep more.")
        const packed = yield* Effect.promise(() => run("npm", ["pack", "--dry-run", "--json"], { cwd: sql }))
        assert.include(packed.stdout, '"CHANGELOG.md"')
      })
    )
  )
}
