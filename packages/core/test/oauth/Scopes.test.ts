/**
 * Scopes declared by a host: granting (RFC 6749 section 3.3) and narrowing (section 6).
 */
import { AuthorizationSettings, scopeNames } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import fc from "fast-check"
import { grantedScope, narrowedScope } from "../../src/oauth/AuthorizationRequest.ts"
import { scopeNameFlaw } from "../../src/oauth/AuthorizationSettings.ts"

const declared = { "doors:open": "Open your doors", "doors:list": "List your doors", intercom: "Answer calls" }
const known = ["public", ...Object.keys(declared)]
const refuse = { scopes: declared, unknownScope: "refuse" } as const
const ignore = { scopes: declared, unknownScope: "ignore" } as const

const knownName = fc.constantFrom(...known)
const unknownName = fc
  .string({ minLength: 1, maxLength: 8 })
  .filter((name) => scopeNameFlaw(name) === null && !known.includes(name))
/** Joins names to a scope parameter with additional spaces. */
const parameterOf = (names: ReadonlyArray<string>, space: string) => space + names.join(space + " ") + space
const space = fc.constantFrom("", " ", "  ")
const unique = (names: ReadonlyArray<string>) => [...new Set(names)]
const names = fc.array(knownName, { minLength: 1 })
const mixed = fc.array(fc.oneof(knownName, unknownName))

describe("the scope of an authorization request", () => {
  it("is granted as requested, each name once and in order, and nothing is added", () => {
    fc.assert(
      fc.property(names, space, (asked, gap) => {
        const granted = unique(asked).join(" ")
        assert.strictEqual(grantedScope(refuse, known, parameterOf(asked, gap)), granted)
        assert.strictEqual(grantedScope(ignore, known, parameterOf(asked, gap)), granted)
      })
    )
  })

  it("is public if none is requested", () => {
    for (const parameter of [null, "", "   "]) assert.strictEqual(grantedScope(refuse, known, parameter), "public")
  })

  it("is refused if a name is undeclared, or granted without it if settings ignore such names", () => {
    fc.assert(
      fc.property(mixed, unknownName, fc.nat(), (some, other, at) => {
        const asked = some.toSpliced(at % (some.length + 1), 0, other)
        assert.isNull(grantedScope(refuse, known, asked.join(" ")))
        const rest = unique(asked).filter((name) => known.includes(name))
        assert.strictEqual(grantedScope(ignore, known, asked.join(" ")), rest.length === 0 ? "public" : rest.join(" "))
      })
    )
  })

  it("does not contain the names of JavaScript's object members", () => {
    for (const name of ["constructor", "toString", "__proto__"]) assert.isNull(grantedScope(refuse, known, name))
  })
})

describe("the scope of a refresh", () => {
  it("is that of the grant if none is requested", () => {
    fc.assert(
      fc.property(names, (held) => {
        const granted = unique(held).join(" ")
        assert.strictEqual(narrowedScope(refuse, known, granted, null), granted)
      })
    )
  })

  it("is the requested part, and never more than the grant's scope", () => {
    fc.assert(
      fc.property(names, mixed, fc.constantFrom(refuse, ignore), (held, asked, settings) => {
        const granted = unique(held).join(" ")
        const scope = narrowedScope(settings, known, granted, asked.join(" "))
        const isBeyond = (name: string) =>
          !held.includes(name) && (settings.unknownScope === "refuse" || known.includes(name))
        if (asked.some(isBeyond)) return assert.isNull(scope)
        const kept = unique(asked).filter((name) => held.includes(name))
        assert.deepStrictEqual(scopeNames(scope ?? "refused"), kept.length === 0 ? unique(held) : kept)
      })
    )
  })

  it("may be a scope that is no longer declared", () => {
    assert.strictEqual(narrowedScope(refuse, known, "public gone", "gone"), "gone")
  })
})

describe("a declared scope", () => {
  it("has a name that RFC 6749 allows", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const isToken = Array.from(name).every((each) => each > " " && each < "\u007f" && each !== '"' && each !== "\\")
        assert.strictEqual(scopeNameFlaw(name) === null, name !== "" && isToken)
      })
    )
  })

  it.effect("prevents the start if its name is invalid", () =>
    Effect.gen(function* () {
      const built = yield* Effect.exit(
        Effect.scoped(Layer.build(AuthorizationSettings.layer({ scopes: { "a b": "" } })))
      )
      assert.include(Exit.isFailure(built) ? Cause.pretty(built.cause) : "", '"a b" can\'t be a scope')
    })
  )
})
