/**
 * Handles a broken pipe on standard output or standard error. A broken pipe is not a failure: for example, `head` has
 * read enough, or a log collector died. Further output is dropped, work continues, and the exit code does not change. A
 * closed terminal (EIO) is handled the same way. A full disk is a failure, because otherwise nobody would notice the
 * missing output.
 */
const isGone = ({ code }: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean =>
  code === "EPIPE" || code === "ERR_STREAM_DESTROYED" || (code === "EIO" && isTTY)

/** Removes the error code and the system call from a message like `ENOSPC: no space left on device, write`. */
const plain = (message: string): string => message.replace(/^E[A-Z]+: /, "").replace(/, \w+$/, "")

/** Handles write errors of standard output and standard error for the rest of the process. */
export const ignoreBrokenPipe = (): void => {
  const streams = { "standard output": process.stdout, "standard error": process.stderr } as const
  for (const [name, stream] of Object.entries(streams)) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (isGone(error, stream)) return
      if (stream === process.stdout) {
        process.stderr.write(`doorhook: cannot write to ${name}: ${plain(error.message)}\n`)
      }
      process.exit(1)
    })
  }
}
