/**
 * Requirements of users (`--rules FILE`): a JavaScript module whose default export makes them with the functions that
 * the built-in requirements use.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Trace } from "../evidence/Trace.ts"
import * as Events from "../history/Events.ts"
import * as Cases from "../history/History.ts"
import * as Json from "../history/Json.ts"
import * as Judges from "../judgement/Judge.ts"
import * as Verdicts from "../judgement/Verdict.ts"
import { addRequirements } from "./Catalogue.ts"
import { requirement } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const parsed = (text: string | undefined): unknown => {
  try {
    return text === undefined ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** Returns the `data` of an event as it was first sent. */
const sentData = (trace: Trace, event: number): unknown => {
  const body = parsed(trace.attempts.find((attempt) => attempt.event === event)?.request.body)
  const inner = Predicate.hasProperty(body, "event") ? body.event : null
  return Predicate.hasProperty(inner, "data") ? inner.data : null
}

/** Returns the `data` of an event as the receiver stored it; null if the probe shows none. */
const storedData = (trace: Trace, event: number): unknown => parsed(trace.effects[event]?.data)

/** What a module of rules gets. */
const kit = { requirement, sentData, storedData, ...Events, ...Cases, ...Json, ...Judges, ...Verdicts } as const
export type RuleKit = typeof kit

/** The default export of a module of rules. */
export type Rules = (kit: RuleKit) => ReadonlyArray<Requirement>

/** Adds the requirements that a function makes. Returns what is wrong with them; null if nothing is. */
export const addRules = (rules: Rules): string | null => {
  const made = rules(kit)
  const wrong = made.find(({ id }) => !/^R-OWN-\w+$/.test(id))
  if (wrong !== undefined) return `${wrong.id}: ids of your own requirements begin with R-OWN-, such as R-OWN-01`
  const twice = made.find(({ id }, place) => made.findIndex((one) => one.id === id) !== place)
  if (twice !== undefined) return `${twice.id} is defined twice`
  addRequirements(made)
  return null
}

const isRules = (value: unknown): value is Rules => typeof value === "function"

/** Loads a module of rules and adds its requirements. Does nothing without one. */
export const loadRules = Effect.fnUntraced(function* (file: string | null): Effect.fn.Return<void, CommandFailure> {
  if (file === null) return
  const failed = (what: unknown): CommandFailure =>
    CommandFailure.usage(`--rules ${file}: ${Predicate.isError(what) ? what.message : String(what)}`)
  const loaded: unknown = yield* Effect.tryPromise({
    try: () => import(/* @vite-ignore */ pathToFileURL(resolve(file)).href),
    catch: failed
  })
  const rules = Predicate.hasProperty(loaded, "default") ? loaded.default : undefined
  if (!isRules(rules)) {
    return yield* failed("the default export must be a function that returns a list of requirements")
  }
  const flaw = yield* Effect.try({ try: () => addRules(rules), catch: failed })
  if (flaw !== null) return yield* failed(flaw)
})
