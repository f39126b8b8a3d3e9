import type { NewNotification } from "@doorhook/core"
import { BuildingId, IntegrationId, isoOf, notificationText, UrlPolicy } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"

const about = {
  integration_id: IntegrationId.make(12),
  scope: { type: "building", id: BuildingId.make(1) },
  at: 0
} as const
const failing: NewNotification = { kind: "failing", ...about, failing_since: 0, disables_at: 1_000 }

describe("a notification in the log", () => {
  it("names the integration, the host of its receiver, and how the last attempt ended", () => {
    const host = UrlPolicy.shownHost("https://user:pass@receiver.example:8443/hook/s3cret?key=s3cret")
    const text = notificationText(failing, isoOf, {
      host,
      last: "The receiver answered 500: something failed inside it."
    })
    assert.match(text, /^Integration 12 \(receiver\.example:8443\) of building 1 has acknowledged nothing since 1970-/)
    assert.match(text, / Last: The receiver answered 500/)
    assert.notMatch(text, /s3cret|user|pass/)
  })

  it("names the earliest time at which a failing integration is disabled", () => {
    assert.match(
      notificationText(failing, isoOf),
      /disabled by the first failed attempt after 1970-01-01T00:00:01\.000Z, but not before the tenth failed attempt\.$/
    )
  })

  it("leaves out what is unknown", () => {
    assert.match(
      notificationText({ kind: "recovered", ...about, failing_since: null }, isoOf),
      /^Integration 12 of building 1/
    )
    const text = notificationText({ kind: "disabled", ...about, reason: "failing" }, isoOf, {
      host: "a.example",
      last: ""
    })
    assert.notMatch(text, /Last:|PATCH/)
  })

  it("shows how far a clock jumped, but no time of that clock", () => {
    const about = { integration_id: null, scope: null, at: 0, ahead_ms: 7_200_400, until: 86_400_000 }
    const text = notificationText({ kind: "retention_paused", ...about }, isoOf)
    assert.match(text, /jumped ahead by 2h: nothing is deleted by age for 24 hours\. Check the clock\./)
    assert.notInclude(text, "1970")
  })
})
