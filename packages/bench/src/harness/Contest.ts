/**
 * Rounds of contenders in turn, in which a peer that can't go on leaves the others in peace.
 */
import { Cause, Effect } from "effect"

export interface Outcome<Name extends string, A> {
  /** What each answered, round by round. */
  readonly answers: ReadonlyMap<Name, ReadonlyArray<A>>
  /** What happened to those that have failed. */
  readonly failures: ReadonlyMap<Name, string>
}

/** The answers of a contender, as far as they count: those of one that has failed do not. */
export const answersOf = <Name extends string, A>(
  { answers, failures }: Outcome<Name, A>,
  name: Name
): ReadonlyArray<A> => (failures.has(name) ? [] : (answers.get(name) ?? []))

/** What a line says beside its numbers, of a peer that may have failed. */
export const failureOf = <Name extends string>(
  { failures }: Outcome<Name, unknown>,
  name: Name
): { readonly failed?: string } => {
  const failed = failures.get(name)
  return failed === undefined ? {} : { failed }
}

/**
 * Plays so many rounds. A peer that fails is in no further round; without ours there is nothing to compare, and that
 * failure is the contest's. `tell` completes a line about an answer.
 */
export const contest = Effect.fnUntraced(function* <Name extends string, A, E, R>(
  contenders: { readonly ours: ReadonlyArray<Name>; readonly peers: ReadonlyArray<Name> },
  rounds: number,
  play: (name: Name) => Effect.Effect<A, E, R>,
  tell: (answer: A) => string
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
        process.stderr.write(`round ${round + 1}: ${name} is out: ${failures.get(name)}\n`)
      } else {
        answers.set(name, [...(answers.get(name) ?? []), answer])
        process.stderr.write(`round ${round + 1}: ${name} ${tell(answer)}\n`)
      }
    }
  }
  const outcome: Outcome<Name, A> = { answers, failures }
  return outcome
})
