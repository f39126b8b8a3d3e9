#!/usr/bin/env node
// Starts the command from dist where it is built, or straight from its sources in a checkout, which takes a Node.js that
// strips types: the one that the checkout brings along when the caller's own is older.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

const built = new URL("../dist/command/main.js", import.meta.url)
const source = new URL("../src/command/main.ts", import.meta.url)

if (existsSync(built)) {
  await import(built.href)
} else {
  const [major = 0] = process.versions.node.split(".").map(Number)
  const node = major >= 24 ? process.execPath : createRequire(import.meta.url).resolve("node/bin/node")
  const args = ["--conditions=source", fileURLToPath(source), ...process.argv.slice(2)]
  if (typeof process.execve === "function" && process.platform !== "win32") {
    process.execve(node, [node, ...args], process.env)
  }
  // Where a process can't become another: a child that gets our signals and, by the end of its pipe, learns of our death.
  const child = spawn(node, args, {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...process.env, DOORHOOK_LIFELINE: "3" }
  })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}
