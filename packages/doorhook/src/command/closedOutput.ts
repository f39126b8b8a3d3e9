/**
 * Output that nobody gets. A reader that goes away is no failure: `head` has seen enough, a collector of logs died; what is
 * said then is said to nobody, the work goes on, and its exit code stays true. Nor is a terminal that was closed (EIO). A
 * disk that is full is one: what is missing would not be noticed.
 */
const isGone = ({ code }: NodeJS.ErrnoException, { isTTY }: NodeJS.WriteStream): boolean =>
  code === "EPIPE" || code === "ERR_STREAM_DESTROYED" || (code === "EIO" && isTTY)

/** `ENOSPC: no space left on device, write` without what only a program asks for. */
const plain = (message: string): string => message.replace(/^E[A-Z]+: /, "").replace(/, \w+$/, "")

const streams = { "standard output": process.stdout, "standard error": process.stderr } as const

for (const [name, stream] of Object.entries(streams)) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (isGone(error, stream)) return
    if (stream === process.stdout) process.stderr.write(`doorhook: cannot write to ${name}: ${plain(error.message)}\n`)
    process.exit(1)
  })
}
