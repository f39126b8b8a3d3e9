/**
 * Restores platform packages that `npm install` removed from package-lock.json.
 *
 * A tool with a native binary has one optional package per platform. npm omits the packages that the configured
 * registry lacks, and `npm ci` then rejects the whole lock file. A restored entry has only a version and a platform.
 * That is enough, because npm skips the package on other platforms.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lockfile {
  packages: Record<string, Entry>
}

const systems = ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "aix", "win32"]
const processors = ["arm64", "arm", "x64", "ia32", "ppc64", "riscv64", "s390x", "loong64", "wasm32"]

/** Reads the platform from a package's name, as fields of a lock-file entry. */
const platformOf = (name: string) => {
  const parts = name.replace("windows", "win32").split(/[-/]/)
  const os = systems.filter((system) => parts.includes(system))
  const cpu = processors.filter((processor) => parts.includes(processor))
  const libc = parts.includes("musl") ? ["musl"] : os.includes("linux") && parts.includes("gnu") ? ["glibc"] : []
  return {
    ...(os.length > 0 && { os }),
    ...(cpu.length > 0 && { cpu }),
    ...(libc.length > 0 && { libc })
  }
}

const file = new URL("../package-lock.json", import.meta.url)
const lock: Lockfile = JSON.parse(readFileSync(file, "utf8"))

const missing = Object.values(lock.packages).flatMap(({ dev, optionalDependencies = {} }) =>
  Object.entries(optionalDependencies).flatMap(([name, version]) =>
    lock.packages[`node_modules/${name}`] === undefined
      ? [
          [
            `node_modules/${name}`,
            { version: version.replace(/^[~^]/, ""), dev, optional: true, ...platformOf(name) }
          ] as const
        ]
      : []
  )
)

lock.packages = Object.fromEntries(
  [...Object.entries(lock.packages), ...missing].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
)
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
process.stdout.write(`${missing.length} platform packages restored\n`)
