#!/usr/bin/env node
// Starts the command: from dist where the package is installed, straight from its sources in a checkout. Sources take a
// Node.js that strips types: the one that the checkout brings along when the caller's own is older.
import { spawn } from "node:child_process"
import nodeModule, { createRequire } from "node:module"
import { sep } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"

// Much here lives for a moment only. A larger young generation would not make it faster, and is not given back.
const youngGeneration = "--max-semi-space-size=16"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
const isInstalled = fileURLToPath(import.meta.url)
  .split(sep)
  .includes("node_modules")

if (isInstalled && (major < 22 || (major === 22 && minor < 19))) {
  process.stderr.write(`doorhook: Node.js 22.19 or later is needed; this is ${process.versions.node}.\n`)
  process.exitCode = 1
} else if (isInstalled) {
  setFlagsFromString(youngGeneration)
  // Beside the code that it is made from, and as well guarded; where that can't be written there is none.
  nodeModule.enableCompileCache?.(fileURLToPath(new URL("../.compile-cache", import.meta.url)))
  await import("../dist/bundle/main.js")
} else {
  const node = major >= 24 ? process.execPath : createRequire(import.meta.url).resolve("node/bin/node")
  const source = fileURLToPath(new URL("../src/command/main.ts", import.meta.url))
  // Half of a start's time is reading the sources, stripped of their types.
  const env = {
    NODE_COMPILE_CACHE: fileURLToPath(new URL("../../../node_modules/.cache/node", import.meta.url)),
    ...process.env
  }
  const args = [youngGeneration, "--conditions=source", source, ...process.argv.slice(2)]
  if (typeof process.execve === "function" && process.platform !== "win32") {
    process.execve(node, [node, ...args], env)
  }
  // Where a process can't become another: a child that gets our signals and, by the end of its pipe, learns of our death.
  const child = spawn(node, args, {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...env, DOORHOOK_LIFELINE: "3" }
  })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}
