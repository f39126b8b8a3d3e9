/**
 * One component for one schema in the OpenAPI description.
 *
 * The generator names a schema anew for each status that it is answered with: `Errors`, `Errors_1`, `Errors_2` and so
 * on. Those that say the same are made one here.
 */
import { Predicate, Record } from "effect"

const refPrefix = "#/components/schemas/"

/** A copy of a JSON value with every reference renamed. */
const renameRefs = (value: unknown, rename: (name: string) => string): unknown => {
  if (Array.isArray(value)) return value.map((item) => renameRefs(item, rename))
  if (!Predicate.isReadonlyObject(value)) return value
  return Record.map(value, (member, key) =>
    key === "$ref" && Predicate.isString(member) && member.startsWith(refPrefix)
      ? refPrefix + rename(member.slice(refPrefix.length))
      : renameRefs(member, rename)
  )
}

type Schemas = Readonly<globalThis.Record<string, unknown>>

/** Which of the components to use instead of each that repeats another of the same name. */
const repeated = (schemas: Schemas): ReadonlyMap<string, string> => {
  const first = new Map<string, string>()
  const same = new Map<string, string>()
  // Names without a number come first: they are what is kept.
  for (const name of Object.keys(schemas).toSorted()) {
    const text = `${name.replace(/_\d+$/, "")} ${JSON.stringify(schemas[name])}`
    const kept = first.get(text)
    if (kept === undefined) first.set(text, name)
    else same.set(name, kept)
  }
  return same
}

/** A description in which no component repeats another of the same name. */
export const shareSchemas = (description: Schemas): Schemas => {
  const { components } = description
  const schemas = Predicate.isReadonlyObject(components) ? components["schemas"] : undefined
  if (!Predicate.isReadonlyObject(components) || !Predicate.isReadonlyObject(schemas)) return description
  const same = repeated(schemas)
  if (same.size === 0) return description
  const kept = Record.filter(schemas, (_, name) => !same.has(name))
  const shared = renameRefs(
    { ...description, components: { ...components, schemas: kept } },
    (name) => same.get(name) ?? name
  )
  // What differed in nothing but such a name is the same now.
  return Predicate.isReadonlyObject(shared) ? shareSchemas(shared) : description
}
