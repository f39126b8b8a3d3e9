import { assert, describe, it } from "@effect/vitest"
import {
  builtInTypes,
  declareTypes,
  DeliverySettings,
  PublishRequest,
  ResourceTypes,
  RetryPolicy
} from "@doorhook/core"
import { Effect, Layer, Result } from "effect"
import fc from "fast-check"
import { readAttributes } from "../../src/integrations/IntegrationDocument.ts"
import { readSwitches } from "../../src/integrations/OperatorIntegrations.ts"

const minute = 60_000

/** Two declared types: a forced door, and a badge with two actions. */
const types = Result.getOrThrow(
  declareTypes({
    door_forced: { actions: ["create"], retry: ["1s", "5s"], lifetime: "10m", priority: "high" },
    badge: { actions: ["create", "revoke"] }
  })
)

const event = { building_id: 1, data: { id: 1 } }

describe("declared resource types", () => {
  it("follow the built-in types, with the schedule of access logs unless they have their own", () => {
    assert.deepStrictEqual([...types.keys()], ["call", "access_log", "door_forced", "badge"])
    assert.deepStrictEqual(types.get("door_forced"), {
      actions: ["create"],
      urgent: true,
      retry: { delays: [1_000, 5_000], lifetime: 10 * minute },
      path: "door_forced"
    })
    assert.deepStrictEqual(types.get("badge"), {
      actions: ["create", "revoke"],
      urgent: false,
      retry: builtInTypes.access_log.retry,
      path: "badge"
    })
  })

  it("are refused with all their problems", () => {
    const problems = Result.match(
      declareTypes({
        "Door forced": {},
        "9lives": {},
        [`a${"b".repeat(64)}`]: {},
        call: { actions: ["end"], retry: ["1s"], lifetime: "1m", priority: "normal" },
        call_end: { title: "Hung up" },
        access_logs: {},
        calls: {},
        integrations: {},
        notification: {},
        none: { actions: [] },
        twice: { actions: ["create", "create"] },
        shouting: { actions: ["create", "CREATE"] },
        soon: { lifetime: "soon", retry: ["5s", "later"] },
        never: { lifetime: "0s" },
        late: { lifetime: "5s", retry: ["5s"] }
      }),
      {
        onSuccess: () => [],
        onFailure: ({ problems: all }) => all.map(({ detail, pointer }) => `${pointer}: ${detail}`)
      }
    )
    const rule = "must have 1 to 64 lower-case letters, digits and underscores, starting with a letter"
    const duration = "is not a duration like 300ms, 5s, 2m, 1h or 3d"
    const fixed = "can't be changed, because the type is built in"
    assert.deepStrictEqual(problems, [
      `/resourceTypes/call/actions: ${fixed}`,
      `/resourceTypes/call/lifetime: ${fixed}`,
      `/resourceTypes/call/priority: ${fixed}`,
      `/resourceTypes/call/retry: ${fixed}; use the setting \`retry\``,
      `/resourceTypes: "Door forced" ${rule}`,
      `/resourceTypes: "9lives" ${rule}`,
      `/resourceTypes: "a${"b".repeat(64)}" ${rule}`,
      '/resourceTypes: "call_end" is built in; switch it on with `callEnd`',
      '/resourceTypes: "access_logs" is reserved; choose another name',
      '/resourceTypes: "calls" is reserved; choose another name',
      '/resourceTypes: "integrations" is reserved; choose another name',
      '/resourceTypes: "notification" is reserved; choose another name',
      '/resourceTypes/none/actions: must be a list of at least one action, like ["create"]',
      "/resourceTypes/twice/actions: must not repeat an action",
      `/resourceTypes/shouting/actions/1: ${rule}, not "CREATE"`,
      `/resourceTypes/soon/lifetime: "soon" ${duration}`,
      `/resourceTypes/soon/retry/1: "later" ${duration}`,
      "/resourceTypes/never/lifetime: must be more than 0, like 10m",
      "/resourceTypes/late/retry/0: must be less than the lifetime of 5s, not 5s: nothing would be retried"
    ])
  })

  it("may have any name that the rule allows, including names of JavaScript's built-in members", () => {
    const name = fc.oneof(fc.constantFrom("constructor", "then", "length"), fc.stringMatching(/^[a-z][a-z0-9_]{0,63}$/))
    fc.assert(
      fc.property(name, (given) => {
        fc.pre(!["call", "access_log", "calls", "access_logs", "integrations", "notification"].includes(given))
        const own = Result.getOrThrow(declareTypes({ [given]: { retry: ["7s"] } }))
        const { fromValue } = PublishRequest.readerOf(own)
        assert.isTrue(Result.isSuccess(fromValue({ ...event, resource_type: given, action: "create" })))
      })
    )
  })

  it("can be published with their own actions only", () => {
    const { fromText, fromValue } = PublishRequest.readerOf(types)
    const problemsOf = (given: object) =>
      [fromValue({ ...event, ...given }), fromText(JSON.stringify({ ...event, ...given }))].map((read) =>
        Result.match(read, { onSuccess: () => [], onFailure: ({ problems }) => problems })
      )
    const both = (...problems: ReadonlyArray<object>) => [problems, problems]
    assert.deepStrictEqual(problemsOf({ resource_type: "badge", action: "revoke" }), both())
    assert.deepStrictEqual(
      problemsOf({ resource_type: "door_forced", action: "revoke" }),
      both({ pointer: "/action", detail: "must be create" })
    )
    assert.deepStrictEqual(
      problemsOf({ resource_type: "badge", action: "burn" }),
      both({ pointer: "/action", detail: "must be create or revoke" })
    )
    assert.deepStrictEqual(
      problemsOf({ resource_type: "constructor", action: "create" }),
      both({
        pointer: "/resource_type",
        detail: "must be call or access_log or door_forced or badge; the setting resourceTypes declares others"
      })
    )
  })

  it("can be used in bindings with their actions, and in an integration's retry overrides", () => {
    const read = (bindings: ReadonlyArray<object>) =>
      Result.match(
        readAttributes(
          {
            data: {
              type: "integrations",
              attributes: {
                integrator: "webhook",
                configuration: { url: "https://a.example/", method: "post" },
                bindings
              }
            }
          },
          { urlProblem: null, types, aliases: {}, mostDetail: () => "full" }
        ),
        {
          onSuccess: ({ bindings: bound }) => bound,
          onFailure: (problems) => problems.map(({ detail, pointer }) => [pointer, detail])
        }
      )
    const badge = { resource_type: "badge", actions: ["revoke"] }
    assert.deepStrictEqual(read([badge]), [badge])
    assert.deepStrictEqual(read([{ resource_type: "door_forced", actions: ["revoke"] }]), [
      ["/data/attributes/bindings/0/actions/0", "Must be `create`."]
    ])
    assert.deepStrictEqual(read([{ resource_type: "window", actions: ["revoke"] }]), [
      ["/data/attributes/bindings/0/resource_type", "Must be `call` or `access_log` or `door_forced` or `badge`."]
    ])
    const switches = (retry: object) =>
      Result.match(readSwitches({ overrides: { retry } }, types), {
        onSuccess: ({ overrides }) => overrides?.retry,
        onFailure: ({ message }) => message
      })
    assert.deepStrictEqual(switches({ badge: ["2s"] }), { badge: [2_000] })
    assert.strictEqual(
      switches({ window: ["2s"] }),
      "/overrides/retry/window: is not a resource type; use call or access_log or door_forced or badge"
    )
  })

  it.effect("have their retry policies in the delivery settings of their service", () =>
    Effect.gen(function* () {
      const { retry } = yield* DeliverySettings
      assert.deepStrictEqual(RetryPolicy.policyOf(retry, "door_forced"), {
        delays: [1_000, 5_000],
        lifetime: 10 * minute
      })
      assert.deepStrictEqual(RetryPolicy.policyOf(retry, "badge"), { delays: [9], lifetime: null })
      for (const undeclared of ["window", "constructor"]) {
        assert.strictEqual(RetryPolicy.policyOf(retry, undeclared), retry.access_log)
      }
    }).pipe(
      Effect.provide(
        DeliverySettings.layer({ retry: { badge: { delays: [9], lifetime: null } } }).pipe(
          Layer.provide(Layer.succeed(ResourceTypes, types))
        )
      )
    )
  )
})
