/**
 * Prints the page of requirements: `node --conditions=source conformance/src/requirements/print.ts > docs/requirements.md`.
 */
import { requirementsPage } from "./Table.ts"

process.stdout.write(requirementsPage())
