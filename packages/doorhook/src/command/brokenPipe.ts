/**
 * Output without a reader. A reader that goes away is not a failure: `head` has seen enough, or a log collector died. Later
 * output is dropped, the work goes on, and the exit code stays true. The same holds for a closed terminal (EIO). A full disk
 * is a failure: nobody would notice the missing output.
 */
const isGone = ({ code }: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean =>
  code === "EPIPE" || code === "ERR_STREAM_DESTROYED" || (code === "EIO" && isTTY)

/** `ENOSPC: no space left on device, write` without the parts that only programs read. */
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
