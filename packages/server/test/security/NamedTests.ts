/**
 * Checks that the tests in a table exist. The table lists them by file and name.
 */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = new URL("../../../../", import.meta.url)

/** The path of a file in the project. */
export const pathOf = (file: string): string => fileURLToPath(new URL(file, root))

/** A test: its file relative to the project, and its name or a unique part of it. */
export type NamedTest = readonly [file: string, name: string]

/** Returns the tests that do not exist. */
export const missing = (tests: Iterable<NamedTest>): ReadonlyArray<string> =>
  [...tests].flatMap(([file, name]) => {
    if (!existsSync(pathOf(file))) return [`${file}: no such file`]
    // Ignores the table itself, which is in one of these files.
    const text = readFileSync(pathOf(file), "utf8").replaceAll(/\[\w+, "[^"]*"\]/g, "")
    return text.includes(name) ? [] : [`${file}: no test ${JSON.stringify(name)}`]
  })
