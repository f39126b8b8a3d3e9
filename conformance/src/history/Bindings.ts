/**
 * What a receiver is bound to (`--binding`): events that no binding of it selects are never sent.
 */
import { accessLog, call } from "./Events.ts"
import type { Case } from "./History.ts"
import type { Operation } from "./Operations.ts"
import { bindingOf } from "./Template.ts"
import type { EventTemplate } from "./Template.ts"

/** The events that the suite has templates of, by the binding that selects them. */
export const templates: Readonly<Record<string, EventTemplate>> = {
  [bindingOf(accessLog)]: accessLog,
  [bindingOf(call)]: call
}

/** Plain events for a receiver with these bindings, as they come on any day: more doors than calls. */
export const plainEvents = (bindings: ReadonlyArray<string> | null): ReadonlyArray<EventTemplate> => {
  const usual = [accessLog, accessLog, call, accessLog]
  const bound = usual.filter((event) => bindings === null || bindings.includes(bindingOf(event)))
  return bound.length === 0 ? usual : bound
}

/**
 * The event to be sent in place of one: itself where a binding selects it, the plain event of another binding in place
 * of a plain one, else nothing: what is unusual about it can't be shown by another.
 */
const substitute = (event: EventTemplate, bindings: ReadonlyArray<string>): EventTemplate | null => {
  if (bindings.includes(bindingOf(event))) return event
  return event.note === "" ? (templates[bindings[0] ?? ""] ?? null) : null
}

const adapted = (operation: Operation, bindings: ReadonlyArray<string>): Operation | null => {
  if (operation.k === "twins" && operation.kind === "other_type" && bindings.length < 2) return null
  if ("events" in operation) {
    const events = operation.events.flatMap((event) => substitute(event, bindings) ?? [])
    return events.length === operation.events.length ? { ...operation, events } : null
  }
  if (!("event" in operation)) return operation
  const event = substitute(operation.event, bindings)
  return event === null ? null : { ...operation, event }
}

/**
 * The case for a receiver with these bindings; null where it is about events that none of them selects. Null bindings:
 * nothing was declared, everything is sent, and what no binding could select is a SHOULD.
 */
export const forBindings = (one: Case, bindings: ReadonlyArray<string> | null): Case | null => {
  if (bindings === null) return one
  const ops = one.history.ops.flatMap((operation) => adapted(operation, bindings) ?? [])
  return ops.length === one.history.ops.length ? { ...one, history: { ...one.history, ops } } : null
}
