/**
 * Checks before each attempt whether the user may still receive the events of a scope.
 *
 * If the directory answers synchronously, the check needs no fiber and no timer. Identical concurrent checks share one
 * request to the directory.
 */
import { Cause, Context, Effect, Exit } from "effect"
import type { Fiber, Scope as Lifetime } from "effect"
import type { GrantId, UserId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"
import { Directory, DirectoryError, mayAccess } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { DeliverySettings, directoryPatience } from "./DeliverySettings.ts"

/** Whether a grant is still valid. An engine whose integrations have no grants needs no answer. */
export const ValidGrants = Context.Reference<(grant: GrantId) => Effect.Effect<boolean, StoreError>>(
  "@doorhook/core/delivery/ValidGrants",
  { defaultValue: () => () => Effect.succeed(true) }
)

/** Whether the user has access, or the directory's error. */
export type AccessAnswer = boolean | DirectoryError

/** Callback for an asynchronous answer. Must not throw. */
export type OnAnswer = (answer: AccessAnswer) => void

/** A request in progress. */
interface Question {
  readonly callers: Array<OnAnswer>
  readonly asked: Fiber.Fiber<unknown, unknown>
  readonly deadline: Fiber.Fiber<unknown>
}

/** The last synchronous answer for a scope. */
interface Known {
  user: UserId
  turn: number
  answer: boolean
}

/** Maximum number of scopes with a cached answer, to bound memory. */
const mostKnown = 1_024

const keyOf = (user: UserId, scope: Scope, grant = ""): string => `${scope.type} ${scope.id} ${grant} ${user}`

const denied = Effect.succeed(false)

/** Encodes a scope as one number. Ids are positive, so the sign distinguishes buildings from tenants. */
const numberOf = ({ id, type }: Scope): number => id * (type === "building" ? 1 : -1)

/** Converts a failure or defect of the directory to a `DirectoryError`. */
const failureOf = (cause: Cause.Cause<DirectoryError>): DirectoryError => {
  const error = Cause.squash(cause)
  return error instanceof DirectoryError ? error : new DirectoryError({ operation: "mayAccess", cause: error })
}

type Outcome = Exit.Exit<boolean, DirectoryError>

const isOutcome = (question: Effect.Effect<boolean, DirectoryError>): question is Outcome => Exit.isExit(question)

const answerOf = (exit: Outcome): AccessAnswer => (Exit.isSuccess(exit) ? exit.value : failureOf(exit.cause))

type Run = <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>

export class AccessCheck {
  readonly #directory: Directory["Service"]
  readonly #isValid: (typeof ValidGrants)["Service"]
  readonly #run: Run
  readonly #patience: number
  readonly #noAnswer: string
  readonly #open = new Map<string, Question>()
  readonly #known = new Map<number, Known>()
  #turn = 0
  #isInTurn = false

  private constructor(
    directory: Directory["Service"],
    isValid: (typeof ValidGrants)["Service"],
    run: Run,
    patience: number,
    noAnswer: string
  ) {
    this.#directory = directory
    this.#isValid = isValid
    this.#run = run
    this.#patience = patience
    this.#noAnswer = noAnswer
  }

  /** Makes an `AccessCheck` that uses the clock of the current context and closes with the scope. */
  static readonly make: Effect.Effect<AccessCheck, never, DeliverySettings | Directory | Lifetime.Scope> = Effect.gen(
    function* () {
      const settings = yield* DeliverySettings
      const patience = directoryPatience(settings)
      const cut = patience < settings.ackTimeout ? " (limited by the lease; a longer lease allows more)" : ""
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const check = new AccessCheck(
        yield* Directory,
        yield* ValidGrants,
        run,
        patience,
        `no answer within ${patience} ms${cut}`
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => check.close()))
      return check
    }
  )

  /**
   * Checks whether a user may receive the events of a scope now. Returns the answer if it is available synchronously.
   * Otherwise returns null and later calls `onAnswer` once, unless this `AccessCheck` closes first.
   *
   * Identical concurrent calls share one request and its answer. A request fails after the directory's time limit,
   * counted from its start. With a grant, the grant must also be valid.
   */
  ask(user: UserId, scope: Scope, onAnswer: OnAnswer, grant?: GrantId): AccessAnswer | null {
    // The service scope is the operator's own, so there is no user's right to check.
    if (scope.type === "service") return true
    if (this.#isInTurn && grant === undefined) {
      const known = this.#known.get(numberOf(scope))
      if (known !== undefined && known.turn === this.#turn && known.user === user) return known.answer
    }
    const open = this.#open.size === 0 ? undefined : this.#open.get(keyOf(user, scope, grant))
    if (open === undefined) return this.#askDirectory(user, scope, onAnswer, grant)
    open.callers.push(onAnswer)
    return null
  }

  /**
   * Runs the synchronous function `work`. Until `work` ends, identical checks reuse the directory's synchronous
   * answers. A revoked right therefore takes effect in the next call.
   */
  withinTurn(work: () => void): void {
    if (this.#isInTurn) return work()
    this.#turn++
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#isInTurn = true
    try {
      work()
    } finally {
      this.#isInTurn = false
    }
  }

  /** Interrupts all requests in progress. Their callers get no answer. */
  close(): void {
    const questions = [...this.#open.values()]
    this.#open.clear()
    for (const { asked, deadline } of questions) {
      deadline.interruptUnsafe()
      asked.interruptUnsafe()
    }
  }

  #askDirectory(user: UserId, scope: Scope, onAnswer: OnAnswer, grant?: GrantId): AccessAnswer | null {
    let question: Effect.Effect<boolean, DirectoryError>
    try {
      question = mayAccess(this.#directory, user, scope)
      if (grant !== undefined) question = Effect.flatMapEager(question, (may) => (may ? this.#askGrant(grant) : denied))
    } catch (defect) {
      return failureOf(Cause.die(defect))
    }
    const settled = (exit: Outcome) => (grant === undefined ? this.#remember(user, scope, exit) : answerOf(exit))
    if (isOutcome(question)) return settled(question)
    const asked = this.#run(question)
    const exit = asked.pollUnsafe()
    if (exit !== undefined) return settled(exit)
    this.#await(keyOf(user, scope, grant), asked, onAnswer)
    return null
  }

  #askGrant(grant: GrantId): Effect.Effect<boolean, DirectoryError> {
    return Effect.mapErrorEager(this.#isValid(grant), (cause) => new DirectoryError({ operation: "mayAccess", cause }))
  }

  #remember(user: UserId, scope: Scope, exit: Outcome): AccessAnswer {
    if (Exit.isFailure(exit)) return failureOf(exit.cause)
    const answer = exit.value
    if (!this.#isInTurn) return answer
    const known = this.#known.get(numberOf(scope))
    if (known === undefined) {
      this.#known.set(numberOf(scope), { user, turn: this.#turn, answer })
    } else {
      known.user = user
      known.turn = this.#turn
      known.answer = answer
    }
    return answer
  }

  #await(key: string, asked: Fiber.Fiber<boolean, DirectoryError>, onAnswer: OnAnswer): void {
    const end = (answer: AccessAnswer): void => {
      // A late answer has no callers left, and the key may belong to a newer request.
      if (this.#open.get(key) !== question) return
      this.#open.delete(key)
      for (const caller of question.callers) caller(answer)
    }
    const expire = (): void => {
      end(new DirectoryError({ operation: "mayAccess", cause: new Error(this.#noAnswer) }))
      // Nothing waits for the interruption, because it may be impossible to interrupt the request.
      asked.interruptUnsafe()
    }
    const deadline = this.#run(Effect.delay(Effect.sync(expire), this.#patience))
    const question: Question = { callers: [onAnswer], asked, deadline }
    this.#open.set(key, question)
    asked.addObserver((exit) => {
      deadline.interruptUnsafe()
      end(answerOf(exit))
    })
  }
}
