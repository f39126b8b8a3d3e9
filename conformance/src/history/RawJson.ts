/**
 * JSON written by hand: texts are put together and taken apart without ever parsing a number.
 */
import type { EventTemplate, Member } from "./Template.ts"

/** A string as JSON text, in the shortest form. */
export const string = (value: string): string => JSON.stringify(value)

/** A string as JSON text in which every character is an escape: the same value to any JSON reader. */
export const escapedString = (value: string): string =>
  `"${Array.from({ length: value.length }, (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`

/** An object of these members, in this order. */
export const object = (members: ReadonlyArray<Member>): string =>
  `{${members.map(([name, value]) => `${string(name)}:${value}`).join(",")}}`

/** An array of these values. */
export const array = (values: ReadonlyArray<string>): string => `[${values.join(",")}]`

/** The body of a delivery of the event, as doorhook writes it: no space, `event` first. */
export const bodyOf = (event: EventTemplate): string =>
  object([
    [
      "event",
      object([
        ["resource_type", string(event.resource_type)],
        ["action", string(event.action)],
        ["data", object(event.data)],
        ...event.beside_data
      ])
    ],
    ...event.beside_event
  ])

/** The same JSON with other whitespace: what a proxy or a re-serialising sender would make of it. */
export const reencode = (text: string): string => {
  let spaced = ""
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? ""
    if (!inString && /\s/.test(char)) continue
    spaced += char
    if (inString && char === "\\") spaced += text[++at] ?? ""
    else if (char === '"') inString = !inString
    else if (!inString && (char === "," || char === "{" || char === "[")) spaced += "\n "
    else if (!inString && char === ":") spaced += " "
  }
  return `${spaced}\n`
}

/** The same JSON with every character of its texts, names of members aside, as an escape. */
export const escapeAll = (text: string): string =>
  text.replaceAll(/:("(?:[^"\\]|\\.)*")/gu, (_, quoted: string) => {
    const value: unknown = JSON.parse(quoted)
    return `:${escapedString(String(value))}`
  })
