/**
 * Whom a server runs as: PostgreSQL does not run as root.
 */
import { spawnSync } from "node:child_process"
import { userInfo } from "node:os"

const id = (flag: "-g" | "-u"): number => {
  const { status, stdout } = spawnSync("id", [flag, "postgres"], { encoding: "utf8" })
  return status === 0 ? Number(stdout) : Number.NaN
}

/** For root the ids of the user `postgres`, NaN where there is none; nothing for anybody else, who is that user. */
export const serverUser = (): { readonly uid?: number; readonly gid?: number } =>
  userInfo().uid === 0 ? { uid: id("-u"), gid: id("-g") } : {}
