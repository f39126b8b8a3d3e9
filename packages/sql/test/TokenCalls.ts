/**
 * Random sequences of calls that must have the same results on all token stores.
 */
import type { AuthorizationCode, Grant, IssuedTokens, NewAccessToken, RefreshToken, StoreError } from "@doorhook/core"
import { ClientId, GrantId, TokenHash, TokenStore, UserId } from "@doorhook/core"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"

const userOf = (number: number): UserId => UserId.make(`user-${number}`)
const clientOf = (number: number): ClientId => ClientId.make(`client-${number}`)

/** An index into the existing codes or tokens, used modulo their number. */
const place = fc.nat(100)
const lifetime = fc.integer({ min: 0, max: 40 })

const step = fc.oneof(
  fc.record({ op: fc.constant("createCode"), lifetime, user: fc.nat(1), client: fc.nat(1) }),
  fc.record({ op: fc.constant("redeem"), code: place, lifetime }),
  fc.record({ op: fc.constant("refresh"), token: place, lifetime, rotate: fc.boolean() }),
  fc.record({ op: fc.constant("retire"), token: place }),
  fc.record({ op: fc.constant("revokeGrant"), grant: place }),
  fc.record({ op: fc.constant("revokeGrantsOf"), user: fc.nat(2), client: fc.option(fc.nat(2)) }),
  fc.record({ op: fc.constant("grantsOf"), user: fc.nat(2), limit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ op: fc.constant("revokeAccess"), token: place }),
  fc.record({ op: fc.constant("wait"), days: fc.constantFrom(1, 2, 91) }),
  // Purges have no limit here. With a limit, stores could delete different rows.
  fc.record({ op: fc.constant("purge") })
)
export const tokenCallSequence = fc.array(step, { minLength: 1, maxLength: 50, size: "max" })
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

/** Maximum number of access tokens per grant, small enough that sequences reach it. */
const maxAccessTokens = 3

const carryOut = Effect.fnUntraced(function* (steps: ReadonlyArray<Step>) {
  const store = yield* TokenStore
  const grants: Array<Grant> = []
  const codes: Array<AuthorizationCode> = []
  const accessTokens: Array<NewAccessToken> = []
  const refreshTokens: Array<RefreshToken> = []
  const answers: Array<unknown> = []
  let now = 1_000
  let serial = 0

  const hash = (kind: string): TokenHash => TokenHash.make(`${kind}-${++serial}`)
  const at = <A>(list: ReadonlyArray<A>, index: number): A | undefined => list[index % Math.max(1, list.length)]

  /** Numbers that the store assigned to access tokens. Results leave them out, because they differ between stores. */
  const numbers = new Map<TokenHash, number>()
  const numbered = ({ access }: IssuedTokens, stored: Effect.Effect<number | null, StoreError>) =>
    Effect.map(stored, (seq) => {
      if (seq !== null) numbers.set(access.hash, seq)
      return seq !== null
    })
  const presented = (token: TokenHash) => ({ seq: numbers.get(token) ?? Number.MAX_SAFE_INTEGER, hash: token })
  const find = (token: TokenHash) =>
    Effect.map(store.findAccessToken(presented(token)), (found) => {
      // A new token may have the number of a deleted token.
      if (found === null || found.token.hash !== token) return null
      const { seq: _, ...rest } = found.token
      return { token: rest, grant: found.grant }
    })

  const access = (grant_id: GrantId, lifetime: number): NewAccessToken => {
    const retires = at(refreshTokens, serial)?.hash ?? null
    const scope = serial % 2 === 0 ? null : "doors:open"
    const resource = serial % 3 === 0 ? null : "https://api.example/doors"
    const token = {
      hash: hash("access"),
      grant_id,
      scope,
      resource,
      created_at: now,
      expires_at: now + lifetime,
      retires
    }
    accessTokens.push(token)
    return token
  }
  const refresh = (grant_id: GrantId): RefreshToken => {
    const token = {
      hash: hash("refresh"),
      grant_id,
      created_at: now,
      used_at: null,
      rotated_at: null,
      retired_at: null
    }
    refreshTokens.push(token)
    return token
  }

  const make = Effect.fnUntraced(function* (step: Step) {
    switch (step.op) {
      case "createCode": {
        const grant: Grant = {
          id: GrantId.make(`grant-${++serial}`),
          user_id: userOf(step.user),
          client_id: clientOf(step.client),
          scope: "public",
          resource: "",
          created_at: now,
          revoked_at: null
        }
        const code: AuthorizationCode = {
          hash: hash("code"),
          grant_id: grant.id,
          client_id: grant.client_id,
          redirect_uri: "https://client.example/cb",
          redirect_uri_given: serial % 2 === 0,
          code_challenge: serial % 3 === 0 ? "c".repeat(43) : null,
          expires_at: now + step.lifetime
        }
        grants.push(grant)
        codes.push(code)
        return yield* store.createCode(grant, code)
      }
      case "redeem": {
        const code = at(codes, step.code)
        if (code === undefined) return null
        const issued = {
          access: access(code.grant_id, step.lifetime),
          refresh: refresh(code.grant_id),
          maxAccessTokens
        }
        return yield* numbered(issued, store.redeemCode(code.hash, issued, now))
      }
      case "refresh": {
        const token = at(refreshTokens, step.token)
        if (token === undefined) return null
        const { grant_id } = token
        const issued = {
          access: access(grant_id, step.lifetime),
          refresh: step.rotate ? refresh(grant_id) : null,
          maxAccessTokens
        }
        return yield* numbered(issued, store.refresh(token.hash, issued, now))
      }
      case "retire":
        return yield* store.retireRefreshToken(at(refreshTokens, step.token)?.hash ?? hash("unknown"), now)
      case "revokeGrant":
        return yield* store.revokeGrant(at(grants, step.grant)?.id ?? GrantId.make("unknown"), now)
      case "revokeGrantsOf":
        return yield* store.revokeGrantsOf(userOf(step.user), step.client === null ? null : clientOf(step.client), now)
      case "grantsOf":
        return yield* store.grantsOf(userOf(step.user), step.limit)
      case "revokeAccess":
        return yield* store.revokeAccessToken(presented(at(accessTokens, step.token)?.hash ?? hash("unknown")))
      case "wait":
        now += step.days * 86_400_000
        return null
      case "purge":
        return yield* store.purgeExpired(now, 1_000)
    }
  })

  for (const step of steps) {
    now += 3
    answers.push(yield* make(step))
  }
  answers.push(yield* Effect.forEach(codes, ({ hash }) => store.findCode(hash)))
  answers.push(yield* Effect.forEach(accessTokens, ({ hash }) => find(hash)))
  answers.push(yield* Effect.forEach(refreshTokens, ({ hash }) => store.findRefreshToken(hash)))
  return answers
})

/** Runs a sequence of calls on a new store. */
export const carryOutOn = (layer: Layer.Layer<TokenStore, unknown>, steps: ReadonlyArray<Step>) =>
  Effect.runPromise(Effect.scoped(carryOut(steps).pipe(Effect.provide(Layer.fresh(layer)))))
