#!/usr/bin/env node
// Starts the command: from dist when the package is installed, from the sources in a checkout. The sources need a
// Node.js version that strips types. If the caller's version is too old, the copy of Node.js in the checkout runs the
// sources.
import { spawn } from "node:child_process"
import nodeModule, { createRequire } from "node:module"
import { sep } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"

// Maximum size of the young generation in MiB. Most objects are short-lived. A larger size would not be faster, and V8
// would not return the memory.
const youngGeneration = "--max-semi-space-size=16"

// Collects the old generation when it has doubled, not when it has quadrupled. The backlog is on disk, but the memory
// used while it arrived would otherwise stay allocated for long.
const oldGeneration = "--heap-growing-percent=100"

// Node.js uses four threads for files and name lookups unless this variable is set before the first use. At most half
// of the threads look up names, so two dead name servers would block all other lookups. The variable is set here,
// because modules read it when they load.
process.env["UV_THREADPOOL_SIZE"] ??= "64"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
const isInstalled = fileURLToPath(import.meta.url)
  .split(sep)
  .includes("node_modules")

if (isInstalled && (major < 22 || (major === 22 && minor < 19))) {
  process.stderr.write(`doorhook: Node.js 22.19 or later is needed; this is ${process.versions.node}.\n`)
  process.exitCode = 1
} else if (isInstalled) {
  setFlagsFromString(youngGeneration)
  setFlagsFromString(oldGeneration)
  // The cache is beside the code, with the same permissions. Without write permission, nothing is cached.
  nodeModule.enableCompileCache?.(fileURLToPath(new URL("../.compile-cache", import.meta.url)))
  await import("../dist/bundle/main.js")
} else {
  const node = major >= 24 ? process.execPath : createRequire(import.meta.url).resolve("node/bin/node")
  const source = fileURLToPath(new URL("../src/command/main.ts", import.meta.url))
  // Caches compiled code, because reading the sources and stripping their types takes half of the start-up time.
  const env = {
    NODE_COMPILE_CACHE: fileURLToPath(new URL("../../../node_modules/.cache/node", import.meta.url)),
    ...process.env
  }
  const args = [youngGeneration, oldGeneration, "--conditions=source", source, ...process.argv.slice(2)]
  if (typeof process.execve === "function" && process.platform !== "win32") {
    process.execve(node, [node, ...args], env)
  }
  // This process can't replace itself on this platform, so a child process runs the command. This process passes its
  // signals to the child, and the child ends when the pipe between the two processes closes.
  const child = spawn(node, args, {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...env, DOORHOOK_LIFELINE: "3" }
  })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}
