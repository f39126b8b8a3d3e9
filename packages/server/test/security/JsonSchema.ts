/**
 * Validates values against the part of JSON Schema that the OpenAPI description uses. An unknown keyword is a problem, so
 * nothing is skipped silently.
 */
import { Predicate } from "effect"

type Schemas = Readonly<Record<string, unknown>>
type Value = Readonly<Record<string, unknown>>

const known = new Set([
  "$ref",
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "const",
  "anyOf",
  "allOf",
  "oneOf",
  "not",
  "minimum",
  "maximum",
  "minItems",
  "minLength",
  "pattern",
  // Keywords for readers, which do not affect validation.
  "title",
  "description",
  "format",
  "default",
  "examples"
])

const typeOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}

const isOfType = (value: unknown, type: unknown): boolean =>
  type === "integer" ? Number.isSafeInteger(value) : type === typeOf(value)

const isObject = (value: unknown): value is Value => Predicate.isObject(value) && !Array.isArray(value)

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Makes a validator for the schemas of a description. The validator returns the problems, each with its location. */
export const makeValidate = (schemas: Schemas) => {
  const validate = (schema: unknown, value: unknown, at = ""): ReadonlyArray<string> => {
    if (!isObject(schema)) return schema === true ? [] : [`${at}: nothing is allowed here`]
    const unknown = Object.keys(schema).filter((keyword) => !known.has(keyword))
    if (unknown.length > 0) return [`${at}: unknown keywords ${unknown.join(", ")}`]
    const {
      $ref,
      additionalProperties,
      allOf,
      anyOf,
      items,
      maximum,
      minimum,
      minItems,
      minLength,
      oneOf,
      pattern,
      type
    } = schema
    if (Predicate.isString($ref)) {
      const name = $ref.replace("#/components/schemas/", "")
      return schemas[name] === undefined ? [`${at}: there is no ${$ref}`] : validate(schemas[name], value, at)
    }
    if (type !== undefined && !isOfType(value, type)) return [`${at}: is ${typeOf(value)}, not ${JSON.stringify(type)}`]
    const problems: Array<string> = []
    const matches = (each: unknown): boolean => validate(each, value, at).length === 0
    if (Array.isArray(schema["enum"]) && !schema["enum"].includes(value)) problems.push(`${at}: is not in the list`)
    if ("const" in schema && schema["const"] !== value) problems.push(`${at}: is not the one value`)
    if (anyOf !== undefined && !listOf(anyOf).some(matches)) problems.push(`${at}: is none of the alternatives`)
    if (schema["not"] !== undefined && matches(schema["not"])) problems.push(`${at}: is what it must not be`)
    if (oneOf !== undefined && listOf(oneOf).filter(matches).length !== 1) problems.push(`${at}: is not one of them`)
    problems.push(...listOf(allOf).flatMap((each) => validate(each, value, at)))
    if (Predicate.isNumber(value)) {
      if (Predicate.isNumber(minimum) && value < minimum) problems.push(`${at}: is too small`)
      if (Predicate.isNumber(maximum) && value > maximum) problems.push(`${at}: is too large`)
    }
    if (Predicate.isString(value)) {
      if (Predicate.isNumber(minLength) && value.length < minLength) problems.push(`${at}: is too short`)
      if (Predicate.isString(pattern) && !new RegExp(pattern, "u").test(value)) problems.push(`${at}: has another form`)
    }
    if (Array.isArray(value)) {
      if (Predicate.isNumber(minItems) && value.length < minItems) problems.push(`${at}: has too few items`)
      if (items !== undefined) problems.push(...value.flatMap((item, index) => validate(items, item, `${at}/${index}`)))
    }
    if (isObject(value)) {
      const properties = isObject(schema["properties"]) ? schema["properties"] : {}
      for (const name of listOf(schema["required"])) {
        if (!(String(name) in value)) problems.push(`${at}/${String(name)}: is missing`)
      }
      for (const [name, member] of Object.entries(value)) {
        if (Object.hasOwn(properties, name)) problems.push(...validate(properties[name], member, `${at}/${name}`))
        else if (additionalProperties === false) problems.push(`${at}/${name}: is not described`)
        else if (isObject(additionalProperties))
          problems.push(...validate(additionalProperties, member, `${at}/${name}`))
      }
    }
    return problems
  }
  return validate
}
