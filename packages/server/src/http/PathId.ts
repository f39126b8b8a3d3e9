/**
 * Ids in the path of a request.
 */
import { Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { notFound } from "./KnownFailures.ts"

/** Reads a part of the path as an id; 404 for a text that is not one. `what` completes "is not an id of". */
export const pathId = <A>(name: string, parse: (text: string) => Option.Option<A>, what: string) =>
  Effect.flatMap(HttpRouter.params, (params) => {
    const text = params[name] ?? ""
    return Option.match(parse(text), {
      onNone: () => notFound(`${JSON.stringify(text)} is not an id of ${what}.`),
      onSome: Effect.succeed
    })
  })
