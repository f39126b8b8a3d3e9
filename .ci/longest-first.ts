/**
 * Begins with the test files that take longest: one of them that began last would leave the other cores idle.
 */
import { relative } from "node:path"
import type { TestSpecification } from "vitest/node"
import { BaseSequencer } from "vitest/node"

/** Longer than a few seconds, most of which are waiting. */
const long: ReadonlyArray<string> = [
  "packages/doorhook/test/packaging/Packages.test.ts",
  "conformance/test/means.test.ts",
  "conformance/test/engine.test.ts"
]

const place = ({ moduleId, project }: TestSpecification): number => {
  const found = long.indexOf(relative(project.config.root, moduleId))
  return found === -1 ? long.length : found
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}
