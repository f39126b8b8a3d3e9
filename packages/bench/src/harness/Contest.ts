/**
 * Runs several rounds, in each of which the contenders run one after another. A peer that fails does not stop the
 * others.
 */
import { Cause, Effect } from "effect"

export interface Outcome<Name extends string, A> {
  /** The results of each contender, by round. */
  readonly answers: ReadonlyMap<Name, ReadonlyArray<A>>
  /** Error messages of the contenders that have failed. */
  readonly failures: ReadonlyMap<Name, string>
}

/** Returns the results of a contender, or none if it has failed. */
export const answersOf = <Name extends string, A>(
  { answers, failures }: Outcome<Name, A>,
  name: Name
): ReadonlyArray<A> => (failures.has(name) ? [] : (answers.get(name) ?? []))

/** Returns the member `failed` for a finding about a peer; nothing if the peer has not failed. */
export const failureOf = <Name extends string>(
  { failures }: Outcome<Name, unknown>,
  name: Name
): { readonly failed?: string } => {
  const failed = failures.get(name)
  return failed === undefined ? {} : { failed }
}

/**
 * Runs the rounds. A peer that fails takes no part in later rounds. If one of our contenders fails, the contest fails.
 * `format` formats a result for progress lines.
 */
export const contest = Effect.fnUntraced(function* <Name extends string, A, E, R>(
  contenders: { readonly ours: ReadonlyArray<Name>; readonly peers: ReadonlyArray<Name> },
  rounds: number,
  play: (name: Name) => Effect.Effect<A, E, R>,
  format: (answer: A) => string
) {
  const answers = new Map<Name, Array<A>>()
  const failures = new Map<Name, string>()
  for (let round = 0; round < rounds; round++) {
    for (const name of [...contenders.ours, ...contenders.peers]) {
      if (failures.has(name)) continue
      const answer = yield* contenders.ours.includes(name)
        ? play(name)
        : Effect.catchCause(play(name), (cause) => {
            if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
            failures.set(name, String(Cause.squash(cause)))
            return Effect.succeed(null)
          })
      if (answer === null) {
        process.stderr.write(`round ${round + 1}: ${name} has failed: ${failures.get(name)}\n`)
      } else {
        answers.set(name, [...(answers.get(name) ?? []), answer])
        process.stderr.write(`round ${round + 1}: ${name} ${format(answer)}\n`)
      }
    }
  }
  const outcome: Outcome<Name, A> = { answers, failures }
  return outcome
})
