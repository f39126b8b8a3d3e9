/**
 * Joins what `tsc -b` made of the command and of all that it imports into few files: most of a start is finding and opening
 * one thousand of them.
 *
 * `main.js` has everything in it. `extended.js` is the same program for the commands of packages that are installed
 * separately: those import what npm installed, so it imports our packages and Effect from there too.
 * `doorhook-conformance.cjs` is the suite alone, for any Node.js from 18 on, and needs nothing beside it.
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

/**
 * Takes from modules of Node.js what is used of them. An `import` reads everything that a module exports, and some of it is
 * loaded when it is read: with `node:http` comes a whole WebSocket client.
 */
const builtins: Plugin = {
  name: "builtins",
  resolveId: (id, importer, { kind }) =>
    kind === "import-statement" && (id.startsWith("node:") || builtinModules.includes(id)) && importer !== undefined
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

/** Undici without its `fetch`, caches and mocks: what is imported of it, from where it is. */
const undici: Plugin = {
  name: "undici",
  resolveId: (id) => (id === "undici" ? "\0undici" : null),
  load: (id) =>
    id === "\0undici"
      ? `export { default as Client } from "undici/lib/dispatcher/client.js"
         export { default as buildConnector } from "undici/lib/core/connect.js"`
      : null
}

/** The licences of the packages whose modules these are. */
const licencesOf = (modules: ReadonlyArray<string>): string => {
  const packages = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
  const texts = [...new Set(packages)].toSorted().map((place) => {
    const [file] = globSync(join(place, "{LICENSE,LICENCE,license}*"))
    if (file === undefined) throw new Error(`${place} has no licence`)
    return `${place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length)}\n\n${readFileSync(file, "utf8").trim()}\n`
  })
  return texts.join("\n\n")
}

/** Says under which licences the packages are whose code is in the files. */
const licences: Plugin = {
  name: "licences",
  generateBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
    this.emitFile({ type: "asset", fileName: "LICENCES.txt", source: licencesOf(modules) })
  }
}

const suite = join(root, "conformance/dist")

/** The programs of the one file: the command, and the bundled receivers that it starts from itself. */
const programs = {
  command: join(root, "packages/doorhook/dist/command/conformance.js"),
  receiver: join(suite, "mutants/main.js")
}

/** The suite as one file: it knows itself by that, and has node:sqlite where Node.js does. Only bundled receivers need it. */
const oneFile: Plugin = {
  name: "one-file",
  resolveId: (id) => {
    if (id === "one-file" || id === "node:sqlite") return `\0${id}`
    return Object.values(programs).includes(id) ? { id, moduleSideEffects: true } : null
  },
  load: (id) => {
    if (id === join(suite, "Program.js")) return readFileSync(join(suite, "OneFile.js"), "utf8")
    if (id === "\0node:sqlite") return `export const { DatabaseSync } = process.getBuiltinModule?.("node:sqlite") ?? {}`
    return id === "\0one-file"
      ? `if (process.argv.includes("--bundled-receiver")) import("${programs.receiver}")
         else import("${programs.command}")`
      : null
  }
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
  input: { "doorhook-conformance": "one-file" },
  platform: "node",
  plugins: [oneFile],
  transform: {
    target: "node18",
    // Effect looks for variables of bundlers there.
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
      `\n/*\nLicences of what is in this file:\n\ndoorhook\n\n${readFileSync(join(root, "LICENSE"), "utf8").trim()}\n\n\n${licencesOf(moduleIds)}*/\n`
  }
})
chmodSync(join(suite, "doorhook-conformance.cjs"), 0o755)
