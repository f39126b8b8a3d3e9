/**
 * A PostgreSQL server of the version installed on this machine. It is for tests with tools such as `pg_dump`, which
 * refuses a newer server.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { accessSync, chownSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { freePort } from "../ListeningServer.ts"
import type { TestServer } from "./TestServer.ts"
import { reach } from "./TestServer.ts"

const ask = (command: string, ...args: ReadonlyArray<string>): string | null => {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" })
  return status === 0 ? stdout.trim() : null
}

/** Returns the folder and the major version of the installed programs, or a text that says what is missing. */
export const installedTools = (): { readonly folder: string; readonly version: number } | string => {
  const folder = ask("pg_config", "--bindir")
  if (folder === null) return "pg_config is not installed"
  const version = Number(/ (\d+)/.exec(ask(join(folder, "pg_dump"), "--version") ?? "")?.[1])
  return Number.isNaN(version) ? `${folder} has no pg_dump` : { folder, version }
}

/** Returns the user and group to run the server as. PostgreSQL refuses to run as root. */
const owner = () =>
  userInfo().uid === 0 ? { uid: Number(ask("id", "-u", "postgres")), gid: Number(ask("id", "-g", "postgres")) } : {}

/** Starts a server from a folder of programs. Throws if the folder has no `initdb`. */
export const startInstalled = async (tools: string): Promise<TestServer> => {
  accessSync(join(tools, "initdb"))
  const as = owner()
  const folder = mkdtempSync(join(tmpdir(), "doorhook-installed-postgres-"))
  const run = (program: string, ...args: ReadonlyArray<string>): void =>
    void execFileSync(join(tools, program), ["-D", join(folder, "data"), ...args], {
      ...as,
      cwd: folder,
      stdio: "ignore"
    })
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    if (as.uid !== undefined) chownSync(folder, as.uid, as.gid)
    run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    const port = await freePort()
    const settings = `-p ${port} -c fsync=off -c listen_addresses=127.0.0.1 -k ${folder}`
    run("pg_ctl", "--wait", `--log=${join(folder, "log")}`, `--options=${settings}`, "start")
    return {
      ...(await reach(`postgres://postgres@127.0.0.1:${port}/postgres`)),
      stop: async () => {
        run("pg_ctl", "--wait", "--mode=fast", "stop")
        remove()
      }
    }
  } catch (cause) {
    remove()
    throw cause
  }
}
