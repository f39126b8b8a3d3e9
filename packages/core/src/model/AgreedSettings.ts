/**
 * Settings that must be equal in all processes that deliver from one database. They are stored there.
 */
import { Option, Schema } from "effect"

/** Settings that must be equal, as texts without secrets. A setting with its default value is left out. */
export const AgreedSettings = Schema.Record(Schema.String, Schema.String)
export type AgreedSettings = typeof AgreedSettings.Type

/** Settings that a process proposes because they differ from the stored ones. */
export const ProposedSettings = Schema.Struct({
  /** Short name of the proposal: equal settings have the same. */
  id: Schema.String,
  /** When and by which process the settings were proposed. */
  at: Schema.Finite,
  process: Schema.String,
  settings: AgreedSettings
})
export type ProposedSettings = typeof ProposedSettings.Type

/** Names of the settings that hold the agreed and the last proposed settings. */
export const agreedName = "agreed_settings"
export const proposedName = "proposed_settings"

export const encodeAgreed = Schema.encodeSync(Schema.fromJsonString(AgreedSettings))
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(AgreedSettings))
export const encodeProposed = Schema.encodeSync(Schema.fromJsonString(ProposedSettings))
const decodeProposedOption = Schema.decodeUnknownOption(Schema.fromJsonString(ProposedSettings))

/** Reads stored settings. A damaged text counts as none, and is replaced like settings that differ. */
export const decodeAgreed = (text: string): AgreedSettings => Option.getOrElse(decode(text), () => ({}))
export const decodeProposed = (text: string | null): ProposedSettings | null =>
  Option.getOrNull(decodeProposedOption(text))

/** Name of the setting that holds the kind of the directory. */
const directory = "directory"

/** Returns the names of the settings that differ. A process without a directory can't differ in it. */
export const differencesOf = (stored: AgreedSettings, own: AgreedSettings): ReadonlyArray<string> =>
  [...new Set([...Object.keys(own), ...Object.keys(stored)])]
    .filter((name) => stored[name] !== own[name])
    .filter((name) => name !== directory || (stored[name] !== undefined && own[name] !== undefined))
    .toSorted()

/** Whether settings may replace the stored ones as soon as no worker uses those. */
export const mayReplace = (stored: AgreedSettings, own: AgreedSettings): boolean =>
  !differencesOf(stored, own).includes(directory)

/** Returns the settings to store in place of others. A process without a directory keeps the stored kind. */
export const replacing = (stored: AgreedSettings, own: AgreedSettings): AgreedSettings => ({
  ...(stored[directory] !== undefined && { [directory]: stored[directory] }),
  ...own
})

const valueOf = (settings: AgreedSettings, name: string): string => settings[name] ?? "the default"

/** Describes differences, like `signing: both instead of the default`. */
export const differencesText = (stored: AgreedSettings, own: AgreedSettings): string =>
  differencesOf(stored, own)
    .map((name) => `${name}: ${valueOf(own, name)} instead of ${valueOf(stored, name)}`)
    .join("; ")

/** The answer of a store to a worker whose settings are not the stored ones, or can't be compared now. */
export interface Disagreement {
  /** The stored settings, before they were replaced. */
  readonly stored: AgreedSettings
  /** Whether this worker's settings have replaced them. Otherwise, it must not send. */
  readonly isReplaced: boolean
}
