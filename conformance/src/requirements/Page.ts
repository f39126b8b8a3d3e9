/**
 * The catalogue as a page: prints `docs/requirements.md`, which a test keeps equal to it.
 */
import { defaultTerms } from "../judgement/Terms.ts"
import { requirements } from "./Catalogue.ts"
import { everyCaseOf, needs } from "./Requirement.ts"
import type { Requirement } from "./Requirement.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const scope = ({ level, profile }: Requirement): string => (profile === null ? String(level) : `${level}, ${profile}`)

const row = (requirement: Requirement): string =>
  `| [${requirement.id}](#${requirement.id.toLowerCase()}) | ${scope(requirement)} | ${requirement.strength} | ${cell(requirement.statement)} |`

const details = (requirement: Requirement): ReadonlyArray<string> => [
  `### ${requirement.id}`,
  "",
  requirement.statement,
  "",
  `- Level ${scope(requirement)}; ${requirement.strength}`,
  `- Source: ${requirement.source}`,
  `- Expected: ${requirement.expected(defaultTerms)}`,
  `- Why: ${requirement.because}`,
  ...requirement.needs.map((need) => `- Needed: ${needs[need].toGive}`),
  ...requirement.provenBy.map((need) => `- To pass at level 2 and 3: ${needs[need].toGive}`),
  "- Cases:",
  ...everyCaseOf(requirement).map(({ strength, title }) => `  - ${title}${strength === "SHOULD" ? " (SHOULD)" : ""}`),
  ...(requirement.sampled.runs === 0 ? [] : [`  - and up to ${requirement.sampled.runs} drawn from the seed`]),
  ""
]

/** The page, as Markdown. */
export const requirementsPage = (): string =>
  [
    "# Requirements of a receiver",
    "",
    "What `doorhook conformance run` tests. The level says what a receiver must let the suite see: 1 its URL alone, 2 a",
    "probe that counts effects, 3 a way to end and start it. A profile is tested when it is asked for. Breaking a MUST is",
    "FAIL, breaking a SHOULD is WARN. `doorhook conformance explain ID` shows what is sent, step by step.",
    "",
    "The interface document, which sources name, is the description of the webhook interface that doorhook implements. It is no part",
    "of doorhook; [Receiving](receiving.md) and [Write a receiver that passes](write-a-receiver.md) have what it asks of a receiver.",
    "",
    "This page is made from the requirements themselves: `node --conditions=source conformance/src/requirements/Page.ts > docs/requirements.md`.",
    "",
    "| Id | Level | Strength | Statement |",
    "|---|---|---|---|",
    ...requirements.map(row),
    "",
    ...requirements.flatMap(details)
  ].join("\n")

if (import.meta.main) process.stdout.write(requirementsPage())
