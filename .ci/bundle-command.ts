/**
 * Bundles the command and everything it imports, as built by `tsc -b`, into a few files. Opening a thousand files would
 * take most of the start-up time.
 *
 * - `main.js` contains everything.
 * - `extended.js` is the same program with the commands of separately installed packages, such as the simulator. These
 *   packages import the installed doorhook and Effect, so this program also imports both instead of containing them.
 * - `doorhook-conformance.cjs` is the suite alone. It runs on Node.js 18 and later and needs no other files.
 *
 *     node .ci/bundle-command.ts
 */
import { chmodSync, globSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { build } from "rolldown"
import type { Plugin } from "rolldown"

const root = new URL("..", import.meta.url).pathname
const folder = join(root, "packages/doorhook/dist/bundle")

/** The bundler's own module. It must not import a chunk, because all chunks use its functions when they are loaded. */
const bundlerRuntime = "\0rolldown/runtime.js"

/**
 * Imports only the used members of Node.js modules. A normal `import` reads every export of a module, and reading some
 * exports loads more code: in `node:http`, a WebSocket client.
 */
const builtins: Plugin = {
  name: "builtins",
  resolveId: (id, importer, { kind }) =>
    kind === "import-statement" &&
    (id.startsWith("node:") || builtinModules.includes(id)) &&
    importer !== undefined &&
    importer !== bundlerRuntime
      ? `\0builtin:${id.replace(/^node:/, "")}`
      : null,
  load: (id) => {
    if (!id.startsWith("\0builtin:")) return null
    const name = `node:${id.slice("\0builtin:".length)}`
    const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) => key !== "default")
    return [
      `const all = /* @__PURE__ */ process.getBuiltinModule("${name}")`,
      "export default all",
      ...names.map((key) => `export const ${key} = /* @__PURE__ */ (() => all.${key})()`)
    ].join("\n")
  }
}

/** Replaces undici with the two of its modules that doorhook uses. The bundle then lacks `fetch`, caches and mocks. */
const undici: Plugin = {
  name: "undici",
  resolveId: (id) => (id === "undici" ? "\0undici" : null),
  load: (id) =>
    id === "\0undici"
      ? `export { default as Client } from "undici/lib/dispatcher/client.js"
         export { default as buildConnector } from "undici/lib/core/connect.js"`
      : null
}

/** Returns the licences of the npm packages that contain these modules. */
const licencesOf = (modules: ReadonlyArray<string>): string => {
  const packages = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
  const texts = [...new Set(packages)].toSorted().map((place) => {
    const [file] = globSync(join(place, "{LICENSE,LICENCE,license}*"))
    if (file === undefined) throw new Error(`${place} has no licence`)
    return `${place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length)}\n\n${readFileSync(file, "utf8").trim()}\n`
  })
  return texts.join("\n\n")
}

/** Writes the licences of bundled packages to a file. */
const licences: Plugin = {
  name: "licences",
  generateBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
    this.emitFile({ type: "asset", fileName: "LICENCES.txt", source: licencesOf(modules) })
  }
}

const suite = join(root, "conformance/dist")

/** Builds the suite as a single file, which is called by another name than the command. */
const oneFile: Plugin = {
  name: "one-file",
  load: (id) => (id === join(suite, "Program.js") ? readFileSync(join(suite, "OneFile.js"), "utf8") : null)
}

const output = { dir: folder, format: "es", chunkFileNames: "[name]-[hash].js", comments: false } as const

await build({
  cwd: root,
  input: { main: "packages/doorhook/dist/command/main.js" },
  platform: "node",
  external: ["./extended.js"],
  plugins: [builtins, undici, licences],
  logLevel: "warn",
  output: { ...output, cleanDir: true }
})

await build({
  cwd: root,
  input: { extended: "packages/doorhook/dist/command/extended.js" },
  platform: "node",
  external: (id) => /^(?:effect|undici|@doorhook\/)/.test(id),
  logLevel: "warn",
  output
})

await build({
  cwd: root,
  input: { "doorhook-conformance": "packages/doorhook/dist/command/conformance.js" },
  platform: "node",
  plugins: [oneFile],
  transform: {
    target: "node18",
    // Effect reads variables that bundlers set in `import.meta.env`.
    define: { "import.meta.env": "undefined" }
  },
  logLevel: "warn",
  output: {
    dir: suite,
    format: "cjs",
    entryFileNames: "[name].cjs",
    codeSplitting: false,
    comments: false,
    banner: "#!/usr/bin/env node",
    intro: readFileSync(join(root, ".ci/older-node.cjs"), "utf8"),
    footer: ({ moduleIds }) =>
      `\n/*\nLicences of the code in this file:\n\ndoorhook\n\n${readFileSync(join(root, "LICENSE"), "utf8").trim()}\n\n\n${licencesOf(moduleIds)}*/\n`
  }
})
chmodSync(join(suite, "doorhook-conformance.cjs"), 0o755)
