/**
 * Packs every package as it would be published, installs the archives into an empty folder, and uses them there as a
 * user would: from ES modules, CommonJS, TypeScript and the command line.
 *
 *     node .ci/packed-install.ts [--linked ARCHIVES] [--into FOLDER] [VERSION...]
 *
 * `VERSION` names a further version of Node.js to test, like 18 or 26. With `--linked`, the script unpacks the archives
 * that `npm run pack` put into a folder, and links their dependencies to this workspace, so that it needs no registry.
 * `--into` names an empty folder to install into, which is not deleted afterwards.
 */
import { execFileSync } from "node:child_process"
import {
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { published } from "./published.ts"

const root = new URL("..", import.meta.url).pathname

const run = (command: string, args: ReadonlyArray<string>, cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Folder with the programs of a user: `*.mjs` and `*.cjs` must end on their own with exit code 0. */
const user = join(root, "packages/doorhook/test/packaging/user")
const programs = ["esm.mjs", "receiver.mjs", "commonjs.cjs"]

/** The oldest supported version of Node.js. */
const oldest = "22.19"

const program = "node_modules/doorhook/bin/doorhook.js"

/** Checks that the suite can start a receiver and test it. */
const testsReceiver = ([command = "", ...args]: ReadonlyArray<string>, folder: string): void => {
  const flags = ["--port-env", "PORT", "--url", "http://127.0.0.1:0/", "--only", "R-ACK-*", "--max-time", "60s"]
  run(command, [...args, "run", "--spawn", `'${process.execPath}' acknowledges.cjs`, ...flags], folder)
}

/** The single-file suite, the only part that runs on older versions of Node.js. */
const singleFile = "node_modules/@doorhook/conformance/dist/doorhook-conformance.cjs"

/** Installs the archives of `npm run pack` with `npm install`, as in the guide. */
const install = (folder: string): void => {
  const archives = join(folder, "archives")
  mkdirSync(archives)
  run("npm", ["run", "--silent", "pack", "--", archives], root)
  const types = `@types/node@${String(createRequire(import.meta.url)("@types/node/package.json").version)}`
  const flags = ["--prefer-offline", "--no-audit", "--no-fund"]
  run("npm", ["install", ...flags, types, ...globSync(join(archives, "*.tgz"))], folder)
}

/** Unpacks the archives and links only their declared dependencies. */
const link = (folder: string, archives: string): void => {
  const modules = join(folder, "node_modules")
  const others = new Set(["@types/node"])
  for (const from of published) {
    const manifest: unknown = JSON.parse(readFileSync(join(root, from, "package.json"), "utf8"))
    const [name = "", version] = ["name", "version"].map((key) => String(Reflect.get(Object(manifest), key)))
    const place = join(modules, name)
    mkdirSync(place, { recursive: true })
    const archive = join(archives, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`)
    run("tar", ["-xzf", archive, "--strip-components=1", "-C", place], folder)
    for (const kind of ["dependencies", "peerDependencies"]) {
      for (const name of Object.keys(Object(Reflect.get(Object(manifest), kind)))) others.add(name)
    }
  }
  for (const name of others) {
    if (/^@?doorhook/.test(name)) continue
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(modules, name))
  }
}

const {
  positionals: versions,
  values: { into, linked }
} = parseArgs({
  allowPositionals: true,
  options: { linked: { type: "string" }, into: { type: "string" } }
})

const folder = into ?? mkdtempSync(join(tmpdir(), "doorhook-packed-"))
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "stranger", private: true, type: "module" }))
  if (linked === undefined) install(folder)
  else link(folder, linked)
  if (lstatSync(join(folder, "node_modules/doorhook")).isSymbolicLink())
    throw new Error("node_modules/doorhook is a link, not an unpacked archive")
  say(`installed ${published.join(", ")}`)

  cpSync(user, folder, { recursive: true })
  run(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.json"], folder)
  say("types: ok")

  for (const node of [[process.execPath], ...versions.map((version) => ["npx", "-y", `node@${version}`])]) {
    const [command = "", ...args] = node
    const version = run(command, [...args, "--version"], folder)
      .trim()
      .slice(1)
    if (linked === undefined) testsReceiver([...node, join(folder, singleFile)], folder)
    if (version.localeCompare(oldest, "en", { numeric: true }) < 0) {
      say(`Node.js ${version}: ok, tested only the single-file suite`)
      continue
    }
    for (const name of programs) run(command, [...args, name], folder)
    run(command, [...args, program, "--help"], folder)
    testsReceiver([...node, join(folder, program), "conformance"], folder)
    say(`Node.js ${version}: ok`)
  }
} finally {
  if (into === undefined) rmSync(folder, { recursive: true, force: true })
}
