/**
 * Ends this process after its parent process has ended: a launcher, or a package runner such as npm.
 *
 * Where Node.js can't replace itself with another program, the launcher runs the command as a child process, connected
 * by a pipe. When the launcher is killed, its end of the pipe closes and the command is killed too. Workers of
 * `doorhook serve --workers N` end with SIGTERM instead, and finish their attempts in flight.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { Socket } from "node:net"

/** Watches the pipe whose descriptor is in `DOORHOOK_LIFELINE`. Does nothing without this variable. */
export const exitWithParent = (): void => {
  const descriptor = Number(process.env["DOORHOOK_LIFELINE"])
  const signal = process.env["DOORHOOK_LIFELINE_SIGNAL"] === "SIGTERM" ? "SIGTERM" : "SIGKILL"

  // Child processes do not inherit this pipe.
  delete process.env["DOORHOOK_LIFELINE"]
  delete process.env["DOORHOOK_LIFELINE_SIGNAL"]

  if (!Number.isInteger(descriptor) || descriptor <= 2) return
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false })
  lifeline.unref()
  lifeline.on("error", () => undefined)
  lifeline.on("close", () => process.kill(process.pid, signal))
  lifeline.resume()
}

/** Interval between checks of the parent process, in milliseconds. */
const checkEvery = 500

/** The command line of a package runner, which may name itself in its process title. */
const runner = /^(?:\S*[/\\])?(?:npm|npx|pnpm|pnpx|yarn|bunx?)(?:\s|$)|[/\\](?:npm|npx|pnpm|yarn)(?:-cli)?\.c?js$/

/** Quoted parts of a script, like a URL with parameters. */
const quoted = /'[^']*'|"(?:[^"\\]|\\.)*"/gs

/** Parts of a script with which it leaves a program running in the background. */
const detaches = /(?<![&<>\\])&(?![&>])|\b(?:nohup|setsid|disown|daemonize|start-stop-daemon)\b/

/**
 * Whether a parent process is a package runner, or a shell that a runner started only to run this command. A script
 * that leaves the command running in the background is neither.
 */
export const isRunner = (parent: ReadonlyArray<string>): boolean => {
  const [program = "", option, script = ""] = parent
  if (/(?:^|\/)(?:ba|da|z|k)?sh$/.test(program) && option === "-c") return !detaches.test(script.replaceAll(quoted, ""))
  return parent.slice(0, 2).some((part) => runner.test(part))
}

/** The arguments of a process; empty if they can't be read. */
const commandOf = (pid: number): ReadonlyArray<string> => {
  if (process.platform === "linux") {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
    } catch {
      return []
    }
  }
  const { status, stdout } = spawnSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" })
  if (status !== 0) return []
  const [, shell, script] = /^(\S+) -c (.*)$/s.exec(stdout.trim()) ?? []
  return shell === undefined || script === undefined ? stdout.trim().split(" ") : [shell, "-c", script]
}

/** The parent and the session of a process; empty where Linux does not show them. */
const relationsOf = (pid: number): { readonly parent?: string; readonly session?: string } => {
  if (process.platform !== "linux") return {}
  try {
    // The name of the program, in parentheses, may contain spaces.
    const relations = /^\d+ \(.*\) \S (?<parent>\d+) \d+ (?<session>\d+)/s
    return relations.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.groups ?? {}
  } catch {
    return {}
  }
}

/**
 * Stops this process as by SIGTERM when the package runner that started it has ended. Runners pass SIGTERM on to their
 * shell at most, and the shell ends without passing it on.
 */
export const stopWithRunner = (): void => {
  const { npm_execpath, npm_lifecycle_event } = process.env
  if (npm_execpath === undefined && npm_lifecycle_event === undefined) return
  const parent = process.ppid
  if (parent <= 1 || !isRunner(commandOf(parent))) return
  const { parent: above, session } = relationsOf(parent)
  // A shell in a session of its own was detached on purpose.
  if (session === String(parent)) return
  const timer = setInterval(() => {
    // The shell between the runner and this process may outlive the runner.
    if (process.ppid === parent && relationsOf(parent).parent === above) return
    clearInterval(timer)
    process.kill(process.pid, "SIGTERM")
  }, checkEvery)
  timer.unref()
}
