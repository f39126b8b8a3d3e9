/**
 * Reads the URL of a PostgreSQL database: libpq's connection URIs (PostgreSQL documentation, "Connection URIs" and
 * "Parameter Key Words"), and doorhook's own parameters. A parameter that would have no effect is refused.
 */
import { didYouMean } from "@doorhook/core"
import { Config, Effect, Predicate, Record, Redacted, Result, Schema } from "effect"

export const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
export type SslMode = (typeof sslModes)[number]

const tlsVersions = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"] as const
const negotiations = ["postgres", "direct"] as const

/** How a connection is encrypted. Sockets of the same machine never are. */
export interface TlsSettings {
  readonly mode: SslMode
  /** PEM file of the trusted authorities, or `system` for the operating system's; null for libpq's default file. */
  readonly rootCert: string | null
  /** PEM files of the client certificate and its key; null for libpq's default files. */
  readonly cert: string | null
  readonly key: string | null
  readonly keyPassword: Redacted.Redacted | null
  /** PEM file of revoked certificates. */
  readonly crl: string | null
  /** `direct` starts TLS without asking the server first (PostgreSQL 17 and later). */
  readonly negotiation: (typeof negotiations)[number]
  /** Whether the host name is sent in the TLS handshake. Providers with one address for many databases need it. */
  readonly sni: boolean
  readonly minVersion: (typeof tlsVersions)[number] | null
  readonly maxVersion: (typeof tlsVersions)[number] | null
}

/** The accepted values of the switches for engines that lack a feature of PostgreSQL. */
export const switchValues = {
  notify: ["on", "off"],
  locks: ["advisory", "rows"],
  claim: ["skip-locked", "update"]
} as const

/** The switches that a URL names; null for one that is left out. See `Switches`. */
export type Asked = { readonly [Name in keyof typeof switchValues]: (typeof switchValues)[Name][number] | null }

/** A database on a PostgreSQL server. */
export interface PostgresUrl {
  /** Host name or address, or the folder of a socket, which begins with `/`. */
  readonly host: string
  /** Address to connect to instead of looking up `host`. */
  readonly address: string | null
  readonly port: number
  /** Null for the database named like the user. */
  readonly database: string | null
  /** Null for the user of this process. */
  readonly user: string | null
  readonly password: Redacted.Redacted | null
  readonly tls: TlsSettings
  readonly applicationName: string
  /** Time limit for connecting, in milliseconds; null for the default, infinite for none. */
  readonly connectTimeout: number | null
  /** Startup options of the server, like `endpoint=...`. */
  readonly options: string | null
  /** Server that forwards wake signals, if `host` is a pooler that doesn't. */
  readonly listen: PostgresUrl | null
  readonly switches: Asked
}

export class PostgresUrlInvalid extends Schema.TaggedError<PostgresUrlInvalid>()("PostgresUrlInvalid", {
  /** Each problem names its parameter. No problem contains a value that might be secret. */
  problems: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.problems.join("; ")
  }
}

const form = "must be written postgres://user:password@host:port/database"

const encoding =
  "user, password, host or port can't be read: write special characters of the user and the password percent-encoded (/ as %2F, ? as %3F, @ as %40, % as %25)"

/** Parameters with an effect. Those with a variable take their default from it. */
const known = {
  host: null,
  hostaddr: null,
  port: null,
  dbname: null,
  user: null,
  password: null,
  application_name: null,
  connect_timeout: null,
  options: null,
  listen: null,
  notify: null,
  locks: null,
  claim: null,
  ssl: null,
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  sslpassword: null,
  sslcrl: "PGSSLCRL",
  sslnegotiation: "PGSSLNEGOTIATION",
  sslsni: "PGSSLSNI",
  ssl_min_protocol_version: "PGSSLMINPROTOCOLVERSION",
  ssl_max_protocol_version: "PGSSLMAXPROTOCOLVERSION",
  channel_binding: "PGCHANNELBINDING",
  gssencmode: "PGGSSENCMODE",
  require_auth: "PGREQUIREAUTH"
} as const
type Name = keyof typeof known

const names = Record.keys(known)
const isKnown = (name: string): name is Name => Object.hasOwn(known, name)

/** Parameters of libpq without an effect here, and what to do instead. */
const unsupported = new Map<string, string>([
  ...[
    "client_encoding",
    "fallback_application_name",
    "gssdelegation",
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "krspn",
    "max_protocol_version",
    "min_protocol_version",
    "replication",
    "requirepeer",
    "sslcertmode",
    "sslcompression",
    "sslcrldir",
    "sslkeylogfile",
    "tcp_user_timeout"
  ].map((name) => [name, "leave it out"] as const),
  ["load_balance_hosts", "give one host, and leave it out"],
  ["passfile", "write the password in the URL, and keep the URL in DOORHOOK_DATABASE"],
  ["service", "write host, user and database in the URL"],
  ["target_session_attrs", "give one host, which must be the primary server, and leave it out"]
])

/** Text of the parameters, by name. */
type Given = Readonly<Partial<Record<Name, string>>>

/** Decodes percent-encoding; null if it is invalid. */
const decoded = (text: string): string | null => {
  try {
    const plain = decodeURIComponent(text)
    return plain.includes("\0") ? null : plain
  } catch {
    return null
  }
}

const pattern = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s
const address = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d*))?$/

/** Reads everything before the parameters. An empty part counts as left out. */
const readAuthority = (text: string): Result.Result<readonly [Given, string], PostgresUrlInvalid> => {
  const wrong = (problem: string) => Result.fail(new PostgresUrlInvalid({ problems: [problem] }))
  const [, login, place = "", dbname = "", query = ""] = pattern.exec(text) ?? []
  if (!pattern.test(text)) return wrong(form)
  if (place.includes(",")) {
    return wrong("several hosts can't be used: give one host, which leads to the primary server also after a failover")
  }
  const [, bracketed, host, port = ""] = address.exec(place) ?? []
  // Without encoding, a password with a slash or a question mark ends early, and its rest must not be printed.
  const isCutOff = dbname.includes("@") || (login === undefined && place.includes(":") && query.includes("@"))
  if (isCutOff || !address.test(place)) return wrong(encoding)
  const [user = "", password = ""] = /^([^:]*):?(.*)$/s.exec(login ?? "")?.slice(1) ?? []
  const parts = Object.entries({ user, password, host: bracketed ?? host ?? "", port, dbname })
  const given: Record<string, string> = {}
  for (const [name, part] of parts) {
    const plain = decoded(part)
    if (plain === null) return wrong(encoding)
    if (plain !== "") given[name] = plain
  }
  return Result.succeed([given, query])
}

/** Reads the parameters; adds problems with their names and encoding. */
const readQuery = (query: string, problems: Array<string>): Given => {
  const given: Partial<Record<Name, string>> = {}
  for (const pair of query.split("&").filter((text) => text !== "")) {
    const end = pair.indexOf("=")
    const name = decoded(pair.slice(0, Math.max(end, 0)))
    const value = decoded(pair.slice(end + 1))
    if (end === -1 || name === null || value === null || (pair.includes("@") && !isKnown(name))) {
      problems.push("a parameter can't be read: write parameters as name=value, percent-encoded (& as %26, % as %25)")
    } else if (!isKnown(name)) {
      const instead = unsupported.get(name)
      problems.push(
        instead === undefined
          ? `${name} is not a parameter of a PostgreSQL URL${didYouMean(name, names) || `; there are ${names.join(", ")}`}`
          : `${name} can't be used: ${instead}`
      )
    } else if (value === "" && name !== "password") problems.push(`${name} is empty: give a value, or leave it out`)
    else if (Object.hasOwn(given, name)) problems.push(`${name} is given twice`)
    else given[name] = value
  }
  return given
}

class Reader {
  private readonly variables: Given
  private readonly given: Given
  private readonly problems: Array<string>

  constructor(variables: Given, given: Given, problems: Array<string>) {
    this.variables = variables
    this.given = given
    this.problems = problems
  }

  /** Returns how messages name a parameter: by its variable if the value comes from there. */
  private label(name: Name): string {
    return Object.hasOwn(this.given, name) ? name : `${name} (${known[name] ?? ""})`
  }

  text(name: Name): string | null {
    return this.given[name] ?? this.variables[name] ?? null
  }

  secret(name: Name): Redacted.Redacted | null {
    const text = this.text(name)
    return text === null ? null : Redacted.make(text)
  }

  /** Returns null for a parameter that is left out or wrong. */
  oneOf<const A extends string>(name: Name, values: ReadonlyArray<A>): A | null {
    const text = this.text(name)
    if (text === null) return null
    const found = values.find((value) => value.toLowerCase() === text.toLowerCase())
    if (found !== undefined) return found
    this.refuse(`${this.label(name)} must be ${values.join(", ")}${didYouMean(text, values)}`)
    return null
  }

  /** Refuses all values but these, which ask for nothing. */
  onlyOneOf(name: Name, values: ReadonlyArray<string>, why: string): void {
    const text = this.text(name)
    if (text !== null && !values.includes(text)) this.refuse(`${this.label(name)} can't be used, because ${why}`)
  }

  number(name: Name, most: number, least: number): number | null {
    const text = this.text(name)
    if (text === null) return null
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1
    if (number >= least && number <= most) return number
    this.refuse(`${this.label(name)} must be a whole number from ${least} to ${most}`)
    return null
  }

  refuse(problem: string): void {
    this.problems.push(problem)
  }
}

/** `sslrootcert=system` demands `verify-full`, and a URL of JDBC's style says `ssl=true`. */
const modeOf = (read: Reader): SslMode => {
  const mode = read.oneOf("sslmode", sslModes)
  const ssl = read.text("ssl")
  const isWeak = mode !== null && ["disable", "allow", "prefer"].includes(mode)
  if (ssl !== null && ssl !== "true") read.refuse("ssl must be true; for anything else give sslmode")
  if (ssl === "true" && isWeak) read.refuse(`ssl=true contradicts sslmode=${mode}: leave one of them out`)
  const isSystem = read.text("sslrootcert") === "system"
  if (isSystem && ((mode !== null && mode !== "verify-full") || (mode === null && ssl !== null))) {
    read.refuse(
      "sslrootcert=system trusts many authorities: use it with sslmode=verify-full, which checks the host name"
    )
  }
  return mode ?? (isSystem ? "verify-full" : ssl === null ? "prefer" : "require")
}

const readTls = (read: Reader): TlsSettings => {
  const mode = modeOf(read)
  const negotiation = read.oneOf("sslnegotiation", negotiations) ?? "postgres"
  if (negotiation === "direct" && ["disable", "allow", "prefer"].includes(mode)) {
    read.refuse("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full")
  }
  read.onlyOneOf(
    "channel_binding",
    ["disable", "prefer"],
    "doorhook doesn't support channel binding: leave it out, and let sslmode=verify-full check the server instead"
  )
  read.onlyOneOf("gssencmode", ["disable", "prefer"], "doorhook doesn't support GSSAPI: leave it out, and use sslmode")
  read.onlyOneOf(
    "require_auth",
    [],
    "doorhook doesn't support it: leave it out, and let sslmode=verify-full check the server"
  )
  return {
    mode,
    rootCert: read.text("sslrootcert"),
    cert: read.text("sslcert"),
    key: read.text("sslkey"),
    keyPassword: read.secret("sslpassword"),
    crl: read.text("sslcrl"),
    negotiation,
    sni: read.oneOf("sslsni", ["0", "1"]) !== "0",
    minVersion: read.oneOf("ssl_min_protocol_version", tlsVersions),
    maxVersion: read.oneOf("ssl_max_protocol_version", tlsVersions)
  }
}

/** Parameters that mean nothing in the URL of the server for wake signals. */
const uselessIn = ({ listen, switches }: PostgresUrl): ReadonlyArray<string> => [
  ...(listen === null ? [] : ["listen is given twice"]),
  ...Record.keys(switches)
    .filter((name) => switches[name] !== null)
    .map((name) => `${name} has no effect here: write it in the URL itself`)
]

const readSwitches = (read: Reader): Asked => {
  const notify = read.oneOf("notify", switchValues.notify)
  if (notify === "off" && read.text("listen") !== null)
    read.refuse("notify=off leaves no wake signals to listen for: leave listen out, or notify")
  return {
    notify,
    locks: read.oneOf("locks", switchValues.locks),
    claim: read.oneOf("claim", switchValues.claim)
  }
}

/** Reads the URL of another server inside this one. */
const readListen = (read: Reader, environment: Environment): PostgresUrl | null => {
  const text = read.text("listen")
  if (text === null) return null
  const other = parse(text, environment)
  const problems = Result.isFailure(other) ? other.failure.problems : uselessIn(other.success)
  for (const problem of problems) read.refuse(`listen: ${problem}`)
  return Result.getOrElse(other, () => null)
}

/** Values of libpq's variables, by name. */
export type Environment = Readonly<Record<string, string>>

const fromVariables = (environment: Environment): Given =>
  Object.fromEntries(
    Object.entries(known).flatMap(([name, variable]) => {
      const text = variable === null ? undefined : environment[variable]
      return text === undefined || text === "" ? [] : [[name, text]]
    })
  )

/** Reads a URL, and variables for the parameters that it leaves out. Fails with all problems. */
export const parse = (text: string, environment: Environment = {}): Result.Result<PostgresUrl, PostgresUrlInvalid> =>
  Result.flatMap(readAuthority(text), ([authority, query]) => {
    const problems: Array<string> = []
    const read = new Reader(fromVariables(environment), { ...authority, ...readQuery(query, problems) }, problems)
    const seconds = read.number("connect_timeout", 86_400, 0)
    const url: PostgresUrl = {
      host: read.text("host") ?? "localhost",
      address: read.text("hostaddr"),
      port: read.number("port", 65_535, 1) ?? 5432,
      database: read.text("dbname"),
      user: read.text("user"),
      password: read.secret("password"),
      tls: readTls(read),
      applicationName: read.text("application_name") ?? "doorhook",
      connectTimeout: seconds === null ? null : seconds === 0 ? Infinity : seconds * 1_000,
      options: read.text("options"),
      listen: readListen(read, environment),
      switches: readSwitches(read)
    }
    if (url.host.includes(",")) read.refuse("host: several hosts can't be used: give one")
    return problems.length === 0 ? Result.succeed(url) : Result.fail(new PostgresUrlInvalid({ problems }))
  })

const variables = Object.values(known).filter(Predicate.isNotNull)

/** Reads libpq's variables for encryption from the `ConfigProvider`, by default the environment. */
const readVariables = Config.all(
  Record.fromIterableWith(variables, (name) => [name, Config.option(Config.String(name))])
)

/** Reads a URL, and libpq's variables for encryption. */
export const read = (url: Redacted.Redacted): Effect.Effect<PostgresUrl, PostgresUrlInvalid> =>
  readVariables.pipe(
    Effect.mapError(({ message }) => new PostgresUrlInvalid({ problems: [message] })),
    Effect.flatMap((given) => Effect.fromResult(parse(Redacted.value(url), Record.getSomes(given))))
  )

/** Whether a URL leads to a socket of this machine. */
export const isSocket = ({ host, address }: Pick<PostgresUrl, "host" | "address">): boolean =>
  address === null && (host.startsWith("/") || host.startsWith("@"))

/** Returns the URL for messages, without credentials and parameters. */
export const nameOf = (url: PostgresUrl): string => {
  const database = encodeURIComponent(url.database ?? "")
  if (isSocket(url)) return `postgres:///${database}?host=${url.host}`
  const host = url.host.includes(":") ? `[${url.host}]` : url.host
  return `postgres://${host}${url.port === 5432 ? "" : `:${url.port}`}/${database}`
}
