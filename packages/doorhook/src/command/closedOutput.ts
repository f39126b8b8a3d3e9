/**
 * Readers that go away: `head` has seen enough, a collector of logs died. What is said then is said to nobody; the work goes
 * on, and its exit code stays true.
 */
const isGone = ({ code }: NodeJS.ErrnoException): boolean => code === "EPIPE" || code === "ERR_STREAM_DESTROYED"

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (!isGone(error)) throw error
  })
}
