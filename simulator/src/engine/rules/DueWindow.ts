/**
 * When a retry may be due: after its delay, or after what the receiver asked for where that is longer, and up to a fifth
 * of the delay later.
 */
const mostJitter = 0.2

export interface DueWindow {
  readonly from: number
  readonly to: number
}

/** `end` is when the attempt before ended, `asked` what its answer asked for (0: nothing). All in milliseconds. */
export const dueWindow = (end: number, delay: number, asked: number): DueWindow => ({
  from: end + Math.max(delay, asked),
  to: end + Math.max(Math.floor(delay * (1 + mostJitter)), asked)
})
