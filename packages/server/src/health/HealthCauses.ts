/**
 * The causes that `/health/ready`, `doorhook stats` and `/metrics` name. To add one, add a row to `healthCauses` and to
 * the table in docs/operations.md.
 */
import { aheadText, clockFault } from "@doorhook/core"
import type { HealthSettingsShape } from "./HealthSettings.ts"
import type { HealthStatus, StoreRefusal } from "./HealthStatus.ts"

interface Cause<Code extends string = string> {
  /** The `status` in `/health/ready`. */
  readonly code: Code
  /** Whether the process is ready despite the cause. Then `/health/ready` returns 200. */
  readonly isReady: boolean
  /** Returns the problem and its consequences, for operators; null if the cause does not apply. */
  readonly detail: (health: HealthStatus, limits: HealthSettingsShape) => string | null
}

/** Makes a cause of a store that does not work. */
const store = <Code extends string>(code: Code, refusal: StoreRefusal, sentence: string): Cause<Code> => ({
  code,
  isReady: false,
  detail: ({ store_refusal }) =>
    store_refusal === refusal ? `${sentence} Publishing is refused and deliveries wait until it works again.` : null
})

/** Makes a cause of a process that does not do its work. */
const stalled = (detail: Cause["detail"]): Cause<"stalled"> => ({ code: "stalled", isReady: false, detail })

/** All causes, the most important first: the status is the first that applies. Those that leave it ready are last. */
export const healthCauses = [
  {
    code: "sync_failed",
    isReady: false,
    detail: ({ store_trouble }) =>
      store_trouble === null ? null : `${store_trouble} Publishing is refused and deliveries wait.`
  },
  store("disk_full", "disk_full", "The disk of the database is full: make room."),
  store("read_only", "read_only", "The database is read-only, or a standby server."),
  store("locked", "locked", "Another program or session holds a lock on the database: end it."),
  store(
    "too_many_connections",
    "too_many_connections",
    "The database server has no connection left: end other connections, or raise its max_connections."
  ),
  store("io_error", "io_error", "The database reports an input or output error of its disk; the log has its message."),
  store("moved", "moved", "This database was moved to another one: start doorhook there."),
  store("damaged", "damaged", "The database reports that its data is damaged; the log has its message."),
  store(
    "store_unreachable",
    "unreachable",
    "The database does not answer, or its answer can't be used; the log says why."
  ),
  store("store_refuses_changes", "unknown", "The database answers, but refuses changes; the log has its message."),
  {
    code: "authorization_unavailable",
    isReady: false,
    detail: ({ authorization_refusal: refusal }) =>
      refusal === null
        ? null
        : `The database of clients and tokens (authorizationDatabase) does not work (${refusal}); the log has its message. Requests with tokens are refused until it works again. Events are accepted, and deliveries go on.`
  },
  stalled(({ last_claim_at, now, settings_differ }, { claimPause }) =>
    settings_differ === null && last_claim_at !== null && now - last_claim_at > claimPause
      ? `This process has not looked for due deliveries for ${now - last_claim_at} ms. Restart it; the log may say why.`
      : null
  ),
  stalled(({ now, unsettled_since }, { recordPause }) =>
    unsettled_since !== null && now - unsettled_since > recordPause
      ? `Finished attempts have not been recorded for ${now - unsettled_since} ms and will be repeated. Restart this process; the log may say why.`
      : null
  ),
  stalled(({ delivers, last_claim_at, oldest_due_age_ms, settings_differ }, { stallTimeout }) =>
    delivers &&
    settings_differ === null &&
    last_claim_at === null &&
    oldest_due_age_ms !== null &&
    oldest_due_age_ms > stallTimeout
      ? `A delivery has been due for ${oldest_due_age_ms} ms, and this process has not claimed it. Check that a process delivers from this database.`
      : null
  ),
  {
    code: "clock",
    // Deliveries are correct. If the database server's clock is wrong, all processes have this cause at once.
    isReady: true,
    detail: ({ clock_ahead_ms }) =>
      clock_ahead_ms === null || Math.abs(clock_ahead_ms) <= clockFault
        ? null
        : `This machine's clock is ${aheadText(clock_ahead_ms)} the database server's. Deliveries follow the database server's clock. Synchronize both (NTP).`
  },
  // Ready, because the process accepts events and others deliver them. A deployment that waits for readiness before it
  // stops the old processes would otherwise never end.
  { code: "settings_differ", isReady: true, detail: ({ settings_differ }) => settings_differ },
  {
    code: "not_delivered",
    isReady: true,
    detail: ({ delivers, oldest_due_age_ms }, { stallTimeout }) =>
      !delivers && oldest_due_age_ms !== null && oldest_due_age_ms > stallTimeout
        ? `A delivery has been due for ${oldest_due_age_ms} ms, and this process does not deliver. Check that a process delivers from this database.`
        : null
  }
] as const satisfies ReadonlyArray<Cause>

type HealthCode = (typeof healthCauses)[number]["code"]

/** A cause that applies. */
interface CauseDetail {
  readonly code: HealthCode
  readonly detail: string
}

export interface Readiness {
  readonly isReady: boolean
  /** `ready`, or the code of the most important cause. */
  readonly status: HealthCode | "ready"
  /** Description of that cause; null if there is none. */
  readonly detail: string | null
  /** All causes that apply, with those that leave the process ready. */
  readonly causes: ReadonlyArray<CauseDetail>
}

/** Names the causes that apply. A process that claims and records is not stalled, however old its backlog is. */
export const readinessOf = (health: HealthStatus, limits: HealthSettingsShape): Readiness => {
  const found = healthCauses.flatMap(({ code, detail: describe, isReady }) => {
    const detail = describe(health, limits)
    return detail === null ? [] : [{ code, detail, isReady }]
  })
  const [first] = found
  // A process that the store stops is not stalled: a restart would not help.
  const causes = found.filter(({ code }) => code !== "stalled" || first?.code === "stalled")
  return {
    isReady: first?.isReady ?? true,
    status: first?.code ?? "ready",
    detail: first?.detail ?? null,
    causes: causes.map(({ code, detail }) => ({ code, detail }))
  }
}
