/**
 * Tests that a table names by file and name, and whether they are there.
 */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = new URL("../../../../", import.meta.url)

/** The path of a file of the project. */
export const pathOf = (file: string): string => fileURLToPath(new URL(file, root))

/** A test: its file, seen from the root of the project, and its name or a part of it that no other has. */
export type NamedTest = readonly [file: string, name: string]

/** Which of some tests are not there. */
export const missing = (tests: Iterable<NamedTest>): ReadonlyArray<string> =>
  [...tests].flatMap(([file, name]) => {
    if (!existsSync(pathOf(file))) return [`${file}: no such file`]
    // A table in the file itself is no test.
    const text = readFileSync(pathOf(file), "utf8").replaceAll(/\[\w+, "[^"]*"\]/g, "")
    return text.includes(name) ? [] : [`${file}: no test ${JSON.stringify(name)}`]
  })
