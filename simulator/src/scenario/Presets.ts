/**
 * The scenarios that come with doorhook, by name.
 */
import { Option } from "effect"
import { demo } from "./Demo.ts"
import { resolve } from "./document/Resolve.ts"
import type { ScenarioDocument } from "./document/ScenarioDocument.ts"
import { presetDocuments } from "./PresetDocuments.ts"
import type { Scenario } from "./Scenario.ts"

const documents: Readonly<Record<string, ScenarioDocument>> = presetDocuments

export const presetNames: ReadonlyArray<string> = [...Object.keys(documents), demo.name]

/** The document of a preset, as a file for `--scenario` holds it; none for the demo, which numbers its parts by itself. */
export const presetDocument = (name: string): Option.Option<ScenarioDocument> =>
  Object.hasOwn(documents, name) ? Option.fromUndefinedOr(documents[name]) : Option.none()

/** The preset of that name. Building a world takes some milliseconds: only what is asked for is built. */
export const preset = (name: string): Option.Option<Scenario> =>
  name === demo.name ? Option.some(demo) : Option.map(presetDocument(name), resolve)
