/**
 * Which settings must be equal in all processes that deliver from one database, and why the others need not be.
 *
 * Compared are the settings in effect, so a setting that is left out equals one with the default value.
 */
import {
  AgreedSettings,
  builtInTable,
  callEndType,
  defaultDeliverySettings,
  deliverySettingsOf,
  DurationText,
  isoOf
} from "@doorhook/core"
import type { DeliverySettingsShape, Directory, ResourceTypeTable, RetrySchedule } from "@doorhook/core"
import { PostgresUrl } from "@doorhook/sql"
import { Record, Result } from "effect"
import { IpNetwork } from "effect/net"
import { createHash, createHmac } from "node:crypto"
import { limitsText } from "./DetailLimits.ts"
import type { EngineConfig } from "./EngineConfig.ts"
import { deliveryOverrides, resourceTypesOf } from "./EngineConfig.ts"
import type { InvalidConfig } from "./ReadingSettings.ts"
import { collect } from "./ReadingSettings.ts"
import type { SurfaceConfig } from "./SurfaceConfig.ts"

/** The settings of a process, as the engine uses them. */
interface InEffect {
  readonly config: EngineConfig
  readonly delivery: DeliverySettingsShape
  readonly types: ResourceTypeTable
}

/** How to write a setting that must be equal, or the reason why it may differ. */
type Rule = ((settings: InEffect) => string) | { readonly mayDiffer: string }

const durations = (millis: ReadonlyArray<number>): string => millis.map(DurationText.format).join(",")

const scheduleText = ([type, { delays, lifetime }]: readonly [string, RetrySchedule]): string =>
  `${type}=${durations(delays)}${lifetime === null ? "" : ` within ${DurationText.format(lifetime)}`}`

/** Lists the personal members of a type, which redacted events must not contain; empty for those of a built-in type. */
const personalText = (name: string, personal: ReadonlyArray<string> = []): string => {
  const text = personal.toSorted().join(",")
  return text === (builtInTable.get(name)?.personal ?? []).toSorted().join(",") ? "" : ` without ${text}`
}

const local = { mayDiffer: "it describes the process and its machine" }
const requests = { mayDiffer: "it concerns requests, not deliveries" }

/** A rule for each setting of the engine. The type ensures that none is missing. */
export const sharedSettings: { readonly [Name in Exclude<keyof EngineConfig, keyof SurfaceConfig>]-?: Rule } = {
  database: local,
  authorizationDatabase: ({ config: { authorizationDatabase: url } }) =>
    url === undefined
      ? ""
      : Result.match(PostgresUrl.parse(url), { onFailure: () => "", onSuccess: PostgresUrl.nameOf }),
  acceptLostFrames: local,
  allowTargets: ({ delivery }) => delivery.allow.map(IpNetwork.format).toSorted().join(","),
  retry: ({ delivery }) => Object.entries(delivery.retry).map(scheduleText).toSorted().join(";"),
  resourceTypes: ({ types }) =>
    [...types]
      .filter(([name]) => name !== callEndType)
      .map(
        ([name, { actions, personal, urgent }]) =>
          `${name}:${actions.toSorted().join(",")}${urgent ? ":high" : ""}${personalText(name, personal)}`
      )
      .toSorted()
      .join(";"),
  callEnd: ({ types }) => String(types.has(callEndType)),
  check: { mayDiffer: "it concerns publishing, not deliveries" },
  deliver: { mayDiffer: "it decides which processes deliver" },
  maxDetail: ({ config }) => limitsText(config.maxDetail),
  ackTimeout: ({ delivery }) => DurationText.format(delivery.ackTimeout),
  signing: ({ delivery }) => delivery.signing,
  notificationUrl: { mayDiffer: "the process that starts last sets it for all" },
  notificationSecret: { mayDiffer: "the process that starts last sets it for all" },
  retention: ({ delivery: { retention } }) => (retention === null ? "forever" : DurationText.format(retention)),
  disableAfter: ({ delivery }) => DurationText.format(delivery.disableAfter),
  integrationsPerScope: requests,
  clientIsolation: requests,
  lease: { mayDiffer: "each heartbeat contains the lease of its process" },
  catchUp: ({ delivery }) => String(delivery.catchUp),
  queueBytes: local,
  waitingBytes: local,
  databaseTimeout: local,
  pollInterval: local,
  publicUrl: requests,
  operatorKey: requests,
  // A hash with the key reveals no more than the secrets in the database that the key has encrypted.
  encryptionKey: ({ config: { encryptionKey } }) =>
    encryptionKey === undefined
      ? ""
      : `key ${createHmac("sha256", encryptionKey).update("doorhook settings").digest("hex").slice(0, 16)}`,
  proxy: local,
  noProxy: local,
  caFile: local
}

/** Longest text that is stored as it is. A longer one is shortened to a hash. */
const longest = 200

const shortened = (text: string): string =>
  text.length <= longest ? text : `${text.slice(0, 60)}... (${hashOf(text)})`

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

const textsOf = (settings: InEffect): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(sharedSettings).flatMap(([name, rule]) =>
      typeof rule === "function" ? [[name, rule(settings)]] : []
    )
  )

const defaults = textsOf({ config: {}, delivery: defaultDeliverySettings, types: builtInTable })

/** Returns the settings of a process that must be equal, without those that have their default. */
export const agreedSettingsOf = (
  config: EngineConfig,
  kind: Directory["Service"]["kind"]
): Result.Result<AgreedSettings.AgreedSettings, InvalidConfig> =>
  Result.map(
    collect({ overrides: deliveryOverrides(config), types: resourceTypesOf(config) }),
    ({ overrides, types }) => {
      const delivery = Result.getOrElse(deliverySettingsOf(overrides, types), () => defaultDeliverySettings)
      const texts = Record.filter(textsOf({ config, delivery, types }), (text, name) => text !== defaults[name])
      const directory = directoryTexts[kind ?? "functions"]
      return { ...Record.map(texts, shortened), ...(directory !== null && { directory }) }
    }
  )

/** How a kind of directory is stored; null if it does not decide who may deliver. */
const directoryTexts = { functions: "functions", file: "file", none: null, all: null } as const

/** Returns a short name for settings. */
export const idOf = (settings: AgreedSettings.AgreedSettings): string =>
  hashOf(JSON.stringify(settings, Object.keys(settings).toSorted())).slice(0, 8)

/** Says how proposed settings differ from the stored ones; null if they don't, or none were proposed. */
export const proposalText = (
  stored: AgreedSettings.AgreedSettings,
  proposal: AgreedSettings.ProposedSettings | null
): string | null => {
  const differing = proposal === null ? "" : AgreedSettings.differencesText(stored, proposal.settings)
  return proposal === null || differing === ""
    ? null
    : `${proposal.id} was proposed at ${isoOf(proposal.at)} by ${proposal.process}, whose settings differed: ${differing}`
}
