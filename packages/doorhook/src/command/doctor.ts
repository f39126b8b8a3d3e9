/**
 * `doorhook doctor`: checks whether the service can run here, without changing anything.
 */
import {
  AgreedSettings,
  aheadText,
  certainOffset,
  ClockWatch,
  columns,
  CommandFailure,
  counted,
  onOneLine,
  rootMessage
} from "@doorhook/core"
import { isLoopbackHost, metadataUrl } from "@doorhook/server"
import { SecretBox } from "@doorhook/sql"
import type { DatabaseUnusable, Inspection } from "@doorhook/sql"
import { Clock, Console, Effect, Option, Result, Schema } from "effect"
import { Command } from "effect/cli"
import { statfs } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { encryptionKeyOf, readableSecretsOf } from "../config/KeySettings.ts"
import type { ServeConfig } from "../config/ServeConfig.ts"
import * as FileDirectory from "../directory/FileDirectory.ts"
import { agreedSettingsOf, proposalText } from "../config/SharedSettings.ts"
import { ownerProblem } from "../service/Agreement.ts"
import { defaultDatabase, isFile, isPostgres } from "../service/Database.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import * as FileOwner from "../service/FileOwner.ts"
import { isTooOld, oldestNode } from "../version.ts"
import { serveConfigOf, serveFlags } from "./serve.ts"

/** The result of one check. A failure prevents the service from running; a warning does not. */
interface Finding {
  readonly grade: "ok" | "warn" | "FAIL"
  readonly what: string
  readonly detail: string
}

const ok = (what: string, detail: string): Finding => ({ grade: "ok", what, detail })
const warn = (what: string, detail: string): Finding => ({ grade: "warn", what, detail })
const fail = (what: string, detail: string): Finding => ({ grade: "FAIL", what, detail })

const nodeFinding = (): Finding => {
  const detail = process.versions.node
  return isTooOld(detail) ? fail("Node.js", `${detail}; ${oldestNode} or later is needed`) : ok("Node.js", detail)
}

/** Earliest plausible time: doorhook did not exist before 2025. */
const earliest = Date.UTC(2025, 0, 1)

const clockFinding = ({ clockOffset }: Pick<Inspection, "clockOffset">, now: number): Finding => {
  const here = new Date(now).toISOString()
  if (now < earliest) return fail("clock", `${here} is in the past: set this machine's clock`)
  if (clockOffset === null) return ok("clock", here)
  const ahead = certainOffset(clockOffset)
  if (ClockWatch.clockLevel("agrees", ahead) === "agrees") return ok("clock", `${here}, same as the database's`)
  return warn("clock", `this machine's clock is ${aheadText(ahead)} the database server's: synchronize both with NTP`)
}

const tablesFinding = ({ newest, refusal, version }: Inspection): Finding => {
  if (refusal !== null) return fail("tables", refusal)
  if (version === 0) return ok("tables", `none yet: the first start creates them (version ${newest})`)
  return version === newest
    ? ok("tables", `version ${version}, the newest`)
    : warn(
        "tables",
        `version ${version}: the next start, or doorhook migrate, upgrades them to ${newest}. Back up first.`
      )
}

const accessFindings = ({ isReadableByOthers, isWritable }: Inspection, database: string): ReadonlyArray<Finding> => [
  isWritable
    ? ok("permissions", "this user can change the database")
    : fail(
        "permissions",
        isPostgres(database)
          ? "this user can't change the database, or the server is a standby. Grant CREATE on the database, or name the primary server."
          : `this user can't write ${database} and its folder. Change their owner or mode.`
      ),
  ...(isReadableByOthers === true
    ? [warn("permissions", `other users of this machine can read ${database}: restrict it with chmod 600`)]
    : [])
]

/** Rows that another program has damaged, and the deliveries that failed because of such rows. */
const rowFindings = ({ failedReads, unreadable }: Inspection): ReadonlyArray<Finding> => [
  ...unreadable.map((what) =>
    warn("rows", `${onOneLine(what)}. Repair the row, delete the integration, or restore a backup.`)
  ),
  ...(failedReads === 0
    ? []
    : [
        warn(
          "rows",
          `${counted(failedReads, "delivery was", "deliveries were")} cancelled because a row could not be read. Repair it, then send them with doorhook deliveries recover.`
        )
      ])
]

const encryptionFinding = ({ detail, isExposed }: NonNullable<Inspection["encryption"]>): Finding =>
  isExposed ? warn("encryption", detail) : ok("encryption", detail)

const databaseFindings = (
  { database = defaultDatabase }: ServeConfig,
  inspected: Result.Result<Inspection | null, DatabaseUnusable>,
  now: number
): ReadonlyArray<Finding> => {
  if (Result.isFailure(inspected)) return [fail("database", inspected.failure.message)]
  const found = inspected.success
  if (found === null) return [warn("database", "in memory: all data is lost when the process ends")]
  const { engine, exists } = found
  return [
    ok("database", exists ? engine : `${engine}: new`),
    tablesFinding(found),
    ...rowFindings(found),
    ...accessFindings(found, database),
    ...(found.pooler === null ? [] : [ok("pooler", `${found.pooler.mode} mode; ${found.pooler.signals}`)]),
    ...(found.encryption === null ? [] : [encryptionFinding(found.encryption)]),
    clockFinding(found, now)
  ]
}

/** Whether doctor checks the database of an application that embeds doorhook, whose options it doesn't know. */
const isEmbedded = ({ directory }: ServeConfig, agreed: string | null): boolean =>
  directory === undefined && agreed !== null && AgreedSettings.decodeAgreed(agreed)["directory"] === "functions"

/** What a database shows about the settings of its processes. */
type Agreement = Pick<Inspection, "agreed" | "proposed" | "workers">
const noAgreement: Agreement = { agreed: null, proposed: null, workers: null }

/** If no process delivers, reports the last one that sent nothing because its settings differed. */
const proposalFindings = ({ agreed, proposed, workers }: Agreement): ReadonlyArray<Finding> => {
  if (workers !== 0 || agreed === null) return []
  const proposal = AgreedSettings.decodeProposed(proposed)
  const what = proposalText(AgreedSettings.decodeAgreed(agreed), proposal)
  return what === null
    ? []
    : [
        warn(
          "agreement",
          `no process delivers now. ${what}. To use its settings, run: doorhook settings accept ${proposal?.id}`
        )
      ]
}

/** Compares the directory and the settings with those of the processes that deliver from the database. */
const agreementFindings = (config: ServeConfig, { agreed, workers }: Agreement): ReadonlyArray<Finding> => {
  if (agreed === null || isEmbedded(config, agreed)) return []
  const stored = AgreedSettings.decodeAgreed(agreed)
  const kind = config.directory === undefined ? "none" : "file"
  const problem = ownerProblem(stored, kind)
  if (problem !== null) return [fail("directory", problem)]
  const differing = Result.match(agreedSettingsOf(config, kind), {
    onFailure: () => "",
    onSuccess: (own) => AgreedSettings.differencesText(stored, own)
  })
  return differing === ""
    ? [
        ok(
          "agreement",
          workers === 0
            ? "the settings are the stored ones; no process delivers from the database now"
            : "the settings are those of the processes that deliver from the database"
        )
      ]
    : [warn("agreement", `while other processes deliver, this one would send nothing: ${differing}`)]
}

const directoryFindings = ({ directory }: ServeConfig, isOfApplication: boolean) =>
  directory === undefined
    ? Effect.succeed([
        isOfApplication
          ? ok("directory", "functions of an application: only its own processes deliver, not doorhook serve or worker")
          : warn(
              "directory",
              "none: nobody can log in, doorhook serve delivers nothing, and doorhook worker does not start"
            )
      ])
    : Effect.match(FileDirectory.read(directory), {
        onFailure: ({ message }) => [fail("directory", message.replace(/^directory: /, ""))],
        onSuccess: ({ document: { clients, users }, oversights }) => [
          ok("directory", `${counted(users.length, "user")}, ${counted(clients.length, "client")}`),
          ...oversights.map((oversight) => warn("directory", `${directory}: ${oversight}`))
        ]
      })

/** Finds another process that delivers from the database file, and changes in its log that can't be read. */
const fileFindings = ({ acceptLostFrames, database = defaultDatabase }: ServeConfig) =>
  isFile(database)
    ? Effect.match(Effect.all([FileOwner.holderOf(database), FileOwner.lossOf(database, acceptLostFrames)]), {
        // Another check reports why the database can't be opened.
        onFailure: () => [],
        onSuccess: ([owner, loss]) => [
          ...(owner === null
            ? []
            : [warn("database", `${owner} delivers from the database file: a second service can't use it`)]),
          ...(loss === null ? [] : [fail("log", loss)])
        ]
      })
    : Effect.succeed([])

/** Free space below which a disk is nearly full, in bytes. */
const littleSpace = 1024 ** 3

/** Checks the free space on the disk of the database file. */
const diskFindings = ({ database = defaultDatabase }: ServeConfig) =>
  isFile(database)
    ? Effect.promise(() => freeSpace(dirname(resolve(database)))).pipe(
        Effect.map((bytes) => {
          const space = `${(bytes / 1024 ** 3).toFixed(1)} GiB are free for ${database}`
          return [bytes < littleSpace ? warn("disk", `${space}: free more, or lower --retention`) : ok("disk", space)]
        })
      )
    : Effect.succeed([])

/** Returns the free space of a folder's disk in bytes. A folder that does not exist yet is on its parent's disk. */
const freeSpace = async (folder: string): Promise<number> => {
  const found = await statfs(folder).catch(() => null)
  if (found !== null) return found.bavail * found.bsize
  return dirname(folder) === folder ? 0 : freeSpace(dirname(folder))
}

/** Checks the public URL, by the metadata that clients read there, and the proxies in front of the service. */
const addressFindings = Effect.fnUntraced(function* ({
  host = "127.0.0.1",
  publicUrl,
  trustedProxies = []
}: ServeConfig) {
  if (publicUrl === undefined) {
    return isLoopbackHost(host.includes(":") ? `[${host}]` : host)
      ? [ok("public URL", "not set: the address that the service listens on")]
      : [warn("public URL", `not set: links and tokens name ${host}. Give the address of clients with --public-url.`)]
  }
  const url = new URL(publicUrl)
  const isSecure = url.protocol === "https:"
  const hasProxy = trustedProxies.length > 0
  return [
    isSecure || isLoopbackHost(url.hostname)
      ? yield* servedAt(publicUrl.replace(/\/+$/, ""))
      : warn("public URL", `${publicUrl} is not https: anybody on the way can read tokens`),
    isSecure && !hasProxy
      ? warn(
          "trusted proxies",
          "none, although the public URL is https: the service takes its proxy for every client, and slows all logins down together. Name the proxy with --trusted-proxy."
        )
      : ok("trusted proxies", hasProxy ? trustedProxies.join(", ") : "none")
  ]
})

/** Longest wait for an answer of the public URL, in milliseconds. */
const answerWithin = 3_000

const Issuer = Schema.Struct({ issuer: Schema.String })

/** Compares the issuer in the metadata at a public URL with the URL (RFC 8414 section 3.3). */
const servedAt = (publicUrl: string) => {
  const metadata = metadataUrl(publicUrl)
  return Effect.tryPromise(async (signal) => {
    const answer = await fetch(metadata, { signal, redirect: "manual" })
    return { status: answer.status, text: await answer.text() }
  }).pipe(
    Effect.timeout(answerWithin),
    Effect.match({
      onFailure: (error) =>
        warn("public URL", `${metadata} can't be read from here (${rootMessage(error)}): does the service run?`),
      onSuccess: ({ status, text }) => {
        const found = Option.getOrNull(Schema.decodeOption(Schema.fromJsonString(Issuer))(text))
        if (status !== 200 || found === null) {
          return warn("public URL", `${metadata} answers ${status} without metadata: pass this path on to the service`)
        }
        return found.issuer === publicUrl
          ? ok("public URL", `${metadata} names this issuer`)
          : fail("public URL", `${metadata} names the issuer ${found.issuer}, not ${publicUrl}: clients refuse that`)
      }
    })
  )
}

const operatorKeyFinding = ({ operatorKey }: ServeConfig): Finding =>
  operatorKey === undefined
    ? warn(
        "operator key",
        "DOORHOOK_OPERATOR_KEY is not set: the service generates a key and stores it in the database"
      )
    : ok("operator key", "set")

/** Checks the encryption key with encrypted secrets from the database. */
const encryptionKeyFinding = Effect.fnUntraced(function* (config: ServeConfig, sealed: ReadonlyArray<string>) {
  const secrets = SecretBox.make(yield* Effect.fromResult(encryptionKeyOf(config)))
  const readable = readableSecretsOf(config)
  return yield* Effect.match(SecretBox.checkKey(secrets, sealed), {
    onFailure: ({ message }) => fail("encryption key", message),
    onSuccess: () =>
      readable === null
        ? ok("encryption key", "set")
        : warn("encryption key", `DOORHOOK_ENCRYPTION_KEY is not set: ${readable}`)
  })
})

export const doctorCommand = Command.make(
  "doctor",
  serveFlags,
  Effect.fnUntraced(function* (given) {
    // If all other settings are valid, an unusable directory is a separate finding. Otherwise, it is reported together
    // with the problems of the other settings.
    const config = yield* serveConfigOf(given, true)
    const now = yield* Clock.currentTimeMillis
    const inspected = yield* Effect.result(inspect(config.database ?? defaultDatabase))
    const sealed = Result.isSuccess(inspected) ? (inspected.success?.sealed ?? []) : []
    const agreement = (Result.isSuccess(inspected) ? inspected.success : null) ?? noAgreement
    const findings = [
      nodeFinding(),
      ok("settings", "can be used"),
      ...databaseFindings(config, inspected, now),
      ...(yield* fileFindings(config)),
      ...(yield* diskFindings(config)),
      ...(yield* directoryFindings(config, isEmbedded(config, agreement.agreed))),
      ...agreementFindings(config, agreement),
      ...proposalFindings(agreement),
      ...(yield* addressFindings(config)),
      operatorKeyFinding(config),
      yield* encryptionKeyFinding(config, sealed)
    ]
    for (const line of columns(findings.map(({ detail, grade, what }) => [grade, what, detail])))
      yield* Console.log(line)
    const failures = findings.filter(({ grade }) => grade === "FAIL").length
    if (failures > 0) {
      return yield* new CommandFailure({
        message: `${failures} of ${findings.length} ${failures === 1 ? "prevents" : "prevent"} the service from running here.`,
        exitCode: 1
      })
    }
  })
).pipe(
  Command.withDescription(
    "Check whether the service can run here: settings, database, tables, clock, permissions, disk, public URL, keys"
  ),
  Command.withExamples([
    { command: "doorhook doctor --directory directory.json", description: "Before the first start" },
    {
      command: "doorhook doctor --database postgres://doorhook@db.internal/doorhook",
      description: "Before an upgrade: shows the version of the tables"
    }
  ])
)
