/**
 * Checks that receivers get only events that scope and bindings allow. The events must be unchanged since publication
 * and signed with the right secrets.
 */
import type { Event, Integration } from "@doorhook/core"
import { Signature } from "@doorhook/core"
import { signatureOf } from "@doorhook/simulator/testing"
import { Redacted } from "effect"
import { changesKnown, versionsAt } from "./Knowledge.ts"
import type { Check, IntegrationEntry, Request, Trace, Violation } from "./Trace.ts"
import { clockOf, entriesOf } from "./Trace.ts"

const isEnded = ({ integration, what }: IntegrationEntry, url: string): boolean =>
  what === "deleted" || integration.status === "disabled" || integration.configuration.url !== url

/** Whether a request is the single attempt of a probe of a disabled integration. */
const isProbe = ({ delivery, entry, grant }: Request, { index, integration, what }: IntegrationEntry): boolean => {
  const probed = delivery.probed.findLast((at) => at < (grant?.index ?? 0))
  return (
    what !== "deleted" &&
    integration.configuration.url === entry.url &&
    probed !== undefined &&
    probed > index &&
    !delivery.settlements.some((settled) => settled.entry.index > probed && settled.entry.index < entry.index)
  )
}

/** Finds the change that should have prevented the request. */
const endBefore = (trace: Trace, request: Request): IntegrationEntry | undefined => {
  const { known } = changesKnown(trace, request)
  const leased = request.grant?.index ?? 0
  const before = known.findLast(({ index }) => index < leased)
  const since = known.find((change) => change.index > leased && isEnded(change, request.entry.url))
  if (since !== undefined) return since
  return before !== undefined && isEnded(before, request.entry.url) && !isProbe(request, before) ? before : undefined
}

const afterChange = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap((request) => {
    const { delivery, entry } = request
    const end = endBefore(trace, request)
    if (end === undefined) return []
    const how = end.what === "deleted" ? "deleted" : end.integration.status === "disabled" ? "disabled" : "moved"
    const what = `integration ${delivery.integration_id} was ${how}, but delivery ${delivery.id} was sent`
    return [{ what, entries: [end.index, ...(request.grant === null ? [] : [request.grant.index]), entry.index] }]
  })

const afterRight = (trace: Trace): ReadonlyArray<Violation> => {
  const rights = entriesOf(trace.entries, "right")
  const last = (integration: Integration, before: number) =>
    rights.findLast(
      ({ index, scope, user }) =>
        index < before &&
        user === integration.created_by.user_id &&
        scope.type === integration.scope.type &&
        scope.id === integration.scope.id
    )
  return trace.requests.flatMap(({ delivery, entry }) => {
    const integration = trace.integrations.get(delivery.integration_id)?.[0]?.integration
    const right = integration === undefined ? undefined : last(integration, entry.index)
    // In the same millisecond, the directory call counts as earlier.
    if (right === undefined || right.granted || right.at === entry.at) return []
    return [{ what: `delivery ${delivery.id} was sent after the right was lost`, entries: [right.index, entry.index] }]
  })
}

/**
 * Finds calls that were sent after their engine had learned of their end: from the answer to its own publication, or by
 * a signal.
 */
const afterCallEnd = (trace: Trace): ReadonlyArray<Violation> => {
  const answered = new Map(
    entriesOf(trace.entries, "ok").flatMap((ok) => {
      const operation = trace.invoked.get(ok.op)?.operation
      return operation?.type === "publish" ? operation.events.map(({ data }) => [data, ok] as const) : []
    })
  )
  return trace.requests.flatMap(({ delivery, entry }) => {
    const { callEnds, id, integration_id, resent } = delivery
    const signals = trace.changesReceived.get(entry.engine) ?? []
    const end = callEnds.find((ended) => {
      const own = ended.events.flatMap(({ event }) => answered.get(event.data) ?? [])
      const heard = signals.find(
        (signal) =>
          signal.index > ended.index && (signal.integration_id === null || signal.integration_id === integration_id)
      )
      const known = [...own.filter(({ engine }) => engine === entry.engine), ...(heard === undefined ? [] : [heard])]
      // In the same millisecond, the request counts as earlier.
      return known.some(({ at, index }) => index < entry.index && at < entry.at)
    })
    if (end === undefined || resent.some((index) => index < entry.index)) return []
    return [{ what: `delivery ${id} was sent after its call had ended`, entries: [end.index, entry.index] }]
  })
}

export const nothingAfterEnd: Check = {
  name: "nothing-after-end",
  rule: "Nothing is sent without the right, or after the engine must have learned that the integration was deleted, disabled or moved, or that the call ended. A disabled integration gets only probes.",
  violations: (trace) => [...afterChange(trace), ...afterRight(trace), ...afterCallEnd(trace)]
}

/** Whether an integration gets an event, if it is enabled. */
export const maySee = (
  { bindings, scope }: Pick<Integration, "bindings" | "scope">,
  { building_id, resource_type, tenant_ids }: Pick<Event, "building_id" | "resource_type" | "tenant_ids">
): boolean =>
  (scope.type === "building" ? [building_id] : tenant_ids).some((id) => Number(id) === Number(scope.id)) &&
  bindings.some((binding) => binding.resource_type === resource_type)

export const isolation: Check = {
  name: "isolation",
  rule: "A receiver gets only events of its scope and bindings.",
  violations: ({ integrations, publishes, requests, strays }) => [
    ...strays.map(({ index, url, webhook_id }) => ({
      what: `${webhook_id} was sent to ${url}, which matches no delivery`,
      entries: [index]
    })),
    ...requests.flatMap(({ delivery, entry }) => {
      const { enqueued, event, integration_id } = delivery
      const from = publishes.get(event.data)?.index ?? enqueued.index
      const history = (integrations.get(integration_id) ?? []).filter(({ index }) => index < enqueued.index)
      // Versions in effect at some time while the event was accepted.
      const versions = history.filter((_, nth) => (history[nth + 1]?.index ?? Infinity) > from)
      if (versions.some(({ integration }) => maySee(integration, event))) return []
      return [
        { what: `integration ${integration_id} must not get ${event.id}`, entries: [enqueued.index, entry.index] }
      ]
    })
  ]
}

const bodyOf = ({ action, data, resource_type }: Event): string =>
  `{"event":{"resource_type":"${resource_type}","action":"${action}","data":${data}}}`

export const sameBody: Check = {
  name: "same-body",
  rule: "All requests of an event have the same body, with the data as published.",
  violations: ({ publishes, requests }) =>
    requests.flatMap(({ delivery, entry }) =>
      entry.body === bodyOf(delivery.event) && publishes.has(delivery.event.data)
        ? []
        : [{ what: `another body: ${entry.body}`, entries: [entry.index] }]
    )
}

/** The signed parts of a request. */
interface Signed {
  readonly webhook_id: string
  readonly timestamp: string
  readonly body: string
}

const noKey = new Uint8Array()

/** Returns the required signature header for one version of the integration and a time of the sender's clock. */
const signatureHeader = (
  { previous_secrets, signing_secret }: Pick<Integration, "previous_secrets" | "signing_secret">,
  { body, timestamp, webhook_id }: Signed,
  clock: number
): string => {
  const secrets = [signing_secret]
  for (const { secret, until } of previous_secrets) if (clock < until) secrets.push(secret)
  const content = `${webhook_id}.${timestamp}.${body}`
  return secrets.map((secret) => `v1,${signatureOf(Signature.keyOf(secret) ?? noKey, content)}`).join(" ")
}

/** Returns the timestamp of a request signed when the sender's clock shows `clock`. */
const timestampAt = (clock: number): string => String(Math.floor(clock / 1_000))

const day = 24 * 3_600_000
/** Maximum number of previous secrets that still sign. */
const mostKept = 5

/** Tolerance for skewed and jumping clocks, or else for a slow request, in milliseconds. */
const leewayOf = ({ clockJumps, outcome: { scenario } }: Trace): number =>
  scenario.hasStoreClock && clockJumps.length === 0 ? 30_000 : 5 * 60_000

const wrong = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap((request) => {
    const { delivery, entry } = request
    const clock = clockOf(trace, entry.engine, entry)
    const genuine = versionsAt(trace, request).some(
      (version) => signatureHeader(version, entry, clock) === entry.signature
    )
    if (genuine && entry.timestamp === timestampAt(clock)) return []
    const what = `delivery ${delivery.id} is not signed with the secrets of integration ${delivery.integration_id}`
    return [{ what, entries: [entry.index] }]
  })

/**
 * Finds rotations that don't keep the previous secret for a day, or that drop an older secret early although there is
 * room for it.
 */
const forgotten = (trace: Trace): ReadonlyArray<Violation> => {
  const leeway = leewayOf(trace)
  return [...trace.integrations.values()].flatMap((history) =>
    history.flatMap(({ index, integration, wall }, at) => {
      const before = history[at - 1]?.integration
      if (before === undefined) return []
      const secretOf = (secret: Integration["signing_secret"]) => Redacted.value(secret)
      if (secretOf(before.signing_secret) === secretOf(integration.signing_secret)) return []
      const [newest, ...older] = integration.previous_secrets
      const isKept =
        newest !== undefined &&
        secretOf(newest.secret) === secretOf(before.signing_secret) &&
        Math.abs(newest.until - wall - day) < leeway
      // A secret that expires within the leeway may already have expired on another clock.
      const owed = before.previous_secrets.filter(({ until }) => until > wall + leeway).slice(0, mostKept - 1)
      const kept = new Map(older.map(({ secret, until }) => [secretOf(secret), until]))
      if (isKept && owed.every(({ secret, until }) => kept.get(secretOf(secret)) === until)) return []
      return [{ what: `integration ${integration.id} lost a secret that should still sign`, entries: [index] }]
    })
  )
}

export const signatures: Check = {
  name: "signatures",
  rule: "Every request is signed with the current secret, and with each previous one for a day after its rotation.",
  violations: (trace) => [...wrong(trace), ...forgotten(trace)]
}
