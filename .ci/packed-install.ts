/**
 * Packs every package as it would be published, installs the archives into an empty folder, and uses them there as a
 * user would: from ES modules, CommonJS, TypeScript and the command line.
 *
 *     node .ci/packed-install.ts [--linked] [--into FOLDER] [VERSION...]
 *
 * `VERSION` names a further version of Node.js to test, like 18 or 26. With `--linked`, the script unpacks the archives
 * and links their dependencies to this workspace, so that it needs no registry. `--into` names an empty folder to
 * install into, which is not deleted afterwards.
 */
import { execFileSync, spawn } from "node:child_process"
import { globSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import type * as TypeScript from "../docs/node_modules/typescript/lib/typescript.js"
import { published } from "./published.ts"

const root = new URL("..", import.meta.url).pathname

const run = (command: string, args: ReadonlyArray<string>, cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const options = `{
  database: "memory",
  directory: { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false }
}`
const event = `{ resource_type: "call", action: "create", building_id: 1, data: { id: 1 } }`

/** Programs as users write them. Each must end on its own with exit code 0. */
const programs: Readonly<Record<string, string>> = {
  "esm.mjs": `import { createDoorhook } from "doorhook"
    for (const entry of ["doorhook/effect", "@doorhook/core", "@doorhook/core/testing", "@doorhook/sql",
      "@doorhook/sql/postgres", "@doorhook/node", "@doorhook/server", "@doorhook/receiver", "@doorhook/simulator", "@doorhook/conformance"]) {
      if (Object.keys(await import(entry)).length === 0) throw new Error(entry + " exports nothing")
    }
    const doorhook = await createDoorhook(${options})
    const { id } = await doorhook.publish(${event})
    if (!id.startsWith("evt_")) throw new Error(id)
    const answer = await doorhook.fetch(new Request("http://localhost/health/ready"))
    if (answer.status !== 200) throw new Error(await answer.text())
    await doorhook.close()`,
  "receiver.mjs": `import { createReceiver, sqliteStore } from "@doorhook/receiver"
    import { readFileSync } from "node:fs"
    import { createServer } from "node:http"
    import { DatabaseSync } from "node:sqlite"
    const { dependencies, peerDependencies } = JSON.parse(readFileSync("node_modules/@doorhook/receiver/package.json", "utf8"))
    if (dependencies ?? peerDependencies) throw new Error("@doorhook/receiver has dependencies")
    const recorded = []
    const receiver = createReceiver({
      secrets: "allow_unsigned",
      store: sqliteStore(new DatabaseSync(":memory:")),
      record: (_, { id }) => void recorded.push(id)
    })
    const server = createServer(receiver.node).listen(0, "127.0.0.1", async () => {
      for (const _ of [1, 2]) {
        const { status } = await fetch("http://127.0.0.1:" + server.address().port, {
          method: "POST",
          headers: { "webhook-id": "evt_1" },
          body: '{"event":{"resource_type":"call","action":"create","data":{}}}'
        })
        if (status !== 200) throw new Error("answered " + status)
      }
      if (recorded.join() !== "evt_1") throw new Error("recorded " + recorded)
      server.close()
      await receiver.close()
    })`,
  "commonjs.cjs": `const { createDoorhook } = require("doorhook")
    if (typeof require("@doorhook/receiver").createReceiver !== "function") throw new Error("no receiver")
    createDoorhook(${options}).then((doorhook) => doorhook.close())`
}

/** The receiver that the suite starts and tests. */
const started: Readonly<Record<string, string>> = {
  "acknowledges.cjs": `require("node:http")
    .createServer((request, response) => request.resume().on("end", () => response.end()))
    .listen(process.env.PORT, "127.0.0.1")`
}

/** The oldest supported version of Node.js. */
const oldest = "22.19"

/** A user's TypeScript code, with the strictest compiler settings. */
const typed: Readonly<Record<string, string>> = {
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      target: "es2024",
      module: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      types: ["node"]
    },
    files: ["consumer.ts"]
  }),
  "consumer.ts": `import { createServer } from "node:http"
    import { createDoorhook, DoorhookError, sqlDirectory } from "doorhook"
    import type {
      DeliveryAttempt, DeliverySummary, Doorhook, DoorhookNotification, DoorhookOptions, IntegrationSummary
    } from "doorhook"
    import { layer } from "doorhook/effect"
    import { Publisher } from "@doorhook/core"
    import { createReceiver, sqliteStore } from "@doorhook/receiver"
    import type { Problem } from "@doorhook/receiver"
    import { DatabaseSync } from "node:sqlite"
    const receiver = createReceiver({
      secrets: ["whsec_ZG9vcmhvb2s="],
      store: sqliteStore(new DatabaseSync(":memory:")),
      record: (database, { id }) => void database.prepare("SELECT ?").get(id),
      parts: ({ admit }) => ({ admit })
    })
    createServer(receiver.node)
    // @ts-expect-error: there is no such kind
    const kind: Problem["kind"] = "lost"
    export { kind }
    const options: DoorhookOptions = { ...${options}, retry: { access_log: ["5s"] }, ackTimeout: "5s" }
    const doorhook: Doorhook = await createDoorhook(options)
    const { deliveries }: { readonly deliveries: number } = await doorhook.publish(${event})
    // @ts-expect-error: there is no such option
    const wrong: DoorhookOptions = { ...options, ackTimeuot: "5s" }
    createServer(doorhook.node)
    await doorhook.deliveries.list({ state: ["exhausted", "expired"] })
    const ended: ReadonlyArray<DeliverySummary["state"]> = ["delivered", "skipped"]
    // @ts-expect-error: there is no such state
    const state: DeliverySummary["state"] = "lost"
    // @ts-expect-error: there is no such outcome
    const outcome: DeliveryAttempt["outcome"] = "refused"
    // Every state has its own text, without an index signature that would accept any string.
    const explained: Record<DeliverySummary["state"], string> = {
      pending: "", delivering: "", retrying: "", delivered: "", exhausted: "", expired: "", cancelled: "", skipped: ""
    }
    const outcomes: Record<DeliveryAttempt["outcome"], string> = {
      acknowledged: "", bad_status: "", timeout: "", connection_refused: "", connection_reset: "", dns: "", tls: "",
      blocked_address: "", invalid_response: ""
    }
    const statuses: Record<IntegrationSummary["status"], string> = { enabled: "", disabled: "" }
    const kinds: Record<DoorhookNotification["kind"], string> = {
      failing: "", disabled: "", recovered: "", exhausted: "", retention_paused: "", clock_offset: ""
    }
    export { ended, explained, kinds, outcome, outcomes, state, statuses }
    export { deliveries, DoorhookError, layer, Publisher, sqlDirectory, wrong }`
}

const program = "node_modules/doorhook/bin/doorhook.js"

/** Checks that the command serves requests and finds the script of its pages, a file beside the bundle. */
const serves = async (node: ReadonlyArray<string>, folder: string): Promise<void> => {
  const [command, ...args] = [...node, join(folder, program)]
  const child = spawn(command, [...args, "serve", "--port", "0", "--database", "memory"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    // A process group, because npx does not forward signals.
    detached: true
  })
  let said = ""
  for await (const chunk of child.stdout) {
    said += String(chunk)
    if (/listening on http\S+\s/.test(said)) break
  }
  const [, origin] = /listening on (http\S+)\s/.exec(said) ?? []
  if (origin === undefined) throw new Error(`doorhook serve said: ${said}`)
  const { status } = await fetch(new URL("/console/live.js", origin))
  if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM")
  if (status !== 200) throw new Error(`GET /console/live.js was answered with ${status}`)
}

/** Checks that the suite can start a receiver and test it. `suite` is the command line of its program. */
const testsReceiver = ([command = "", ...args]: ReadonlyArray<string>, folder: string): void => {
  const spawned = [
    "--spawn",
    `'${process.execPath}' acknowledges.cjs`,
    "--port-env",
    "PORT",
    "--url",
    "http://127.0.0.1:0/"
  ]
  run(command, [...args, "run", ...spawned, "--only", "R-ACK-*", "--max-time", "60s"], folder)
}

/** The single-file suite, the only part that runs on older versions of Node.js. */
const singleFile = "node_modules/@doorhook/conformance/dist/doorhook-conformance.cjs"

// The workspace's TypeScript has no API, so this uses the TypeScript that the documentation uses.
const ts: typeof TypeScript = createRequire(new URL("../docs/package.json", import.meta.url))("typescript")

/** Whether the package `doorhook` itself declares a symbol. */
const isOwn = (symbol: TypeScript.Symbol): boolean =>
  /\/doorhook\/dist\//.test(symbol.declarations?.[0]?.getSourceFile().fileName ?? "")

/** Whether a type belongs to another library, which has its own documentation. */
const isOfOthers = (type: TypeScript.Type): boolean =>
  /(Like|Host)$/.test((type.aliasSymbol ?? type.symbol)?.name ?? "")

/** Returns the paths of all members of a type, at any depth, that lack a doc comment. */
const membersOf = (checker: TypeScript.TypeChecker) => {
  const seen = new Set<TypeScript.Type>()
  const visit = (type: TypeScript.Type, path: string): ReadonlyArray<string> => {
    if (seen.has(type) || isOfOthers(type)) return []
    seen.add(type)
    const parts = type.isUnionOrIntersection() ? type.types : checker.getTypeArguments(Object(type))
    const primitive = ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike
    const members = (type.flags & primitive) === 0 ? type.getProperties().filter(isOwn) : []
    return [
      ...parts.flatMap((part) => visit(part, path)),
      ...type
        .getCallSignatures()
        .flatMap(({ parameters }) => parameters)
        .flatMap((parameter) => visit(checker.getTypeOfSymbol(parameter), `${path}(${parameter.name})`)),
      ...members.flatMap((member) => {
        const at = `${path}.${member.name}`
        const below = visit(checker.getTypeOfSymbol(member), at)
        return member.getDocumentationComment(checker).length === 0 ? [at, ...below] : below
      })
    ]
  }
  return visit
}

/** Returns the exports of a declaration file, and the members reachable from them, that lack a doc comment. */
const undocumentedIn = (entry: string): ReadonlyArray<string> => {
  const { ES2024 } = ts.ScriptTarget
  const program = ts.createProgram([entry], { module: ts.ModuleKind.NodeNext, target: ES2024, strict: true, types: [] })
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(entry)
  const exported = file === undefined ? undefined : checker.getSymbolAtLocation(file)
  if (exported === undefined) throw new Error(`${entry} exports nothing`)
  const visit = membersOf(checker)
  return checker.getExportsOfModule(exported).flatMap((alias) => {
    const symbol = (alias.flags & ts.SymbolFlags.Alias) === 0 ? alias : checker.getAliasedSymbol(alias)
    const isType = (symbol.flags & (ts.SymbolFlags.Type | ts.SymbolFlags.Class)) !== 0
    const type = isType ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbol(symbol)
    const below = visit(type, symbol.name)
    return symbol.getDocumentationComment(checker).length === 0 ? [symbol.name, ...below] : below
  })
}

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
const link = (folder: string): void => {
  run("npm", ["run", "--silent", "build"], root)
  const modules = join(folder, "node_modules")
  const archives = run(
    "npm",
    ["pack", "--silent", "--pack-destination", folder, ...published.map((place) => `./${place}`)],
    root
  )
  const others = new Set(["@types/node"])
  for (const [index, archive] of archives.trim().split("\n").entries()) {
    const manifest: unknown = JSON.parse(readFileSync(join(root, published[index] ?? "", "package.json"), "utf8"))
    const place = join(modules, String(Reflect.get(Object(manifest), "name")))
    mkdirSync(place, { recursive: true })
    run("tar", ["-xzf", join(folder, archive), "--strip-components=1", "-C", place], folder)
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
  options: { linked: { type: "boolean", default: false }, into: { type: "string" } }
})

const folder = into ?? mkdtempSync(join(tmpdir(), "doorhook-packed-"))
try {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "stranger", private: true, type: "module" }))
  if (linked) link(folder)
  else install(folder)
  if (lstatSync(join(folder, "node_modules/doorhook")).isSymbolicLink())
    throw new Error("node_modules/doorhook is a link, not an unpacked archive")
  say(`installed ${published.join(", ")}`)

  for (const [name, text] of Object.entries({ ...programs, ...typed, ...started })) {
    writeFileSync(join(folder, name), text)
  }
  run(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.json"], folder)
  const undocumented = undocumentedIn(join(folder, "node_modules/doorhook/dist/index.d.ts"))
  if (undocumented.length > 0) throw new Error(`without a doc comment: ${undocumented.join(", ")}`)
  say("types: ok")

  for (const node of [[process.execPath], ...versions.map((version) => ["npx", "-y", `node@${version}`])]) {
    const [command = "", ...args] = node
    const version = run(command, [...args, "--version"], folder)
      .trim()
      .slice(1)
    if (!linked) testsReceiver([...node, join(folder, singleFile)], folder)
    if (version.localeCompare(oldest, "en", { numeric: true }) < 0) {
      say(`Node.js ${version}: ok, tested only the single-file suite`)
      continue
    }
    for (const name of Object.keys(programs)) run(command, [...args, name], folder)
    await serves(node, folder)
    testsReceiver([...node, join(folder, program), "conformance"], folder)
    say(`Node.js ${version}: ok`)
  }
} finally {
  if (into === undefined) rmSync(folder, { recursive: true, force: true })
}
