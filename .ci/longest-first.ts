/**
 * Begins with the test files that take longest: one of them that began last would leave the other cores idle.
 */
import { relative } from "node:path"
import type { TestSpecification } from "vitest/node"
import { BaseSequencer } from "vitest/node"

/** What takes longest, about from the longest on. */
const long: ReadonlyArray<string> = [
  "packages/doorhook/test/packaging/Packages.test.ts",
  "conformance/test/means.test.ts",
  "conformance/test/languages.test.ts",
  "conformance/test/right.test.ts",
  "conformance/test/mutants.test.ts",
  "packages/doorhook/test/faults/Killed.test.ts",
  "packages/doorhook/test/faults/DatabaseFile.test.ts",
  "packages/doorhook/test/faults/PostgresOutage.test.ts",
  "packages/doorhook/test/browser/Console.test.ts",
  "conformance/test/engine.test.ts",
  "conformance/test/vitest/entry.test.ts",
  "packages/doorhook/test/Postgres.test.ts",
  "packages/doorhook/test/browser/LoginPage.test.ts",
  "packages/doorhook/test/Service.test.ts",
  "packages/doorhook/test/Commands.test.ts",
  "packages/doorhook/test/telemetry/Telemetry.test.ts",
  "packages/doorhook/test/embedding/Closing.test.ts"
]

const place = ({ moduleId, project }: TestSpecification): number => {
  const found = long.indexOf(relative(project.config.root, moduleId))
  return found === -1 ? long.length : found
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a sequencer's method of that name, which copies
    const usual = await super.sort(files)
    return usual.toSorted((a, b) => place(a) - place(b))
  }
}
