import { assert, describe, it } from "@effect/vitest"
import { DoorhookError, hashPassword, verifyPassword } from "doorhook"
import { scrypt } from "node:crypto"
import { promisify } from "node:util"

describe("a stored password", () => {
  it("matches only its own password", async () => {
    const stored = await hashPassword("correct horse", { ln: 10, p: 1 })
    assert.match(stored, /^\$scrypt\$ln=10,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    assert.isTrue(await verifyPassword("correct horse", stored))
    assert.isFalse(await verifyPassword("correct horse ", stored))
    assert.notStrictEqual(stored, await hashPassword("correct horse", { ln: 10, p: 1 }))
  })

  it("of another implementation also matches: the test vector of RFC 7914 section 12", async () => {
    const salt = Buffer.from("SodiumChloride").toString("base64").replaceAll("=", "")
    const hash = Buffer.from(
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2" +
        "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
      "hex"
    )
      .toString("base64")
      .replaceAll("=", "")
    assert.isTrue(await verifyPassword("pleaseletmein", `$scrypt$ln=14,r=8,p=1$${salt}$${hash}`))
    assert.isTrue(await verifyPassword("pleaseletmein", `$scrypt$ln=14,r=8,p=1$${salt}$${hash.replaceAll("+", ".")}`))
  })

  it("matches nothing if truncated, because a short hash fits many passwords, and an empty one fits all", async () => {
    const stored = await hashPassword("correct horse", { ln: 4 })
    const at = stored.lastIndexOf("$") + 1
    for (const length of [1, 2, 4, 20])
      assert.isFalse(await verifyPassword("correct horse", stored.slice(0, at + length)))
    assert.isFalse(await verifyPassword("another", stored.slice(0, at + 1)))
    assert.isTrue(await verifyPassword("correct horse", stored))
  })

  it("matches nothing in another form, or if it would take all memory", async () => {
    for (const stored of ["", "plain", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", "$scrypt$ln=30,r=8,p=1$AA$AA"]) {
      assert.isFalse(await verifyPassword("plain", stored))
    }
  })

  it("in another form is refused as slowly as a wrong one, so timing does not reveal such logins", async () => {
    const refused = verifyPassword("plain", "plain").then(() => "refused")
    // Node's default cost is lower than doorhook's, so this hash must finish before the refusal.
    const cheap = promisify(scrypt)("plain", "some salt", 32).then(() => "hashed")
    assert.strictEqual(await Promise.race([refused, cheap]), "hashed")
    await refused
  })

  it("waits in order, without a limit for hashes to be stored", async () => {
    const order: Array<number> = []
    const cost = { ln: 4, p: 1 }
    await Promise.all(Array.from({ length: 300 }, (_, n) => hashPassword("x", cost).then(() => order.push(n))))
    // Two concurrent hashes can end in either order.
    for (const [at, n] of order.entries()) assert.isAtMost(Math.abs(at - n), 1)
  })

  it("is checked before any number of waiting hashes to be stored", async () => {
    const cost = { ln: 4, p: 1 }
    const stored = await hashPassword("correct horse", cost)
    const ended: Array<string> = []
    const hashes = Array.from({ length: 300 }, () => hashPassword("x", cost).then(() => ended.push("hash")))
    const checks = Array.from({ length: 40 }, () =>
      verifyPassword("correct horse", stored).then((isRight) => ended.push(isRight ? "check" : "wrong"))
    )
    await Promise.all([...hashes, ...checks])
    // At most two hashes started before the first check, and at most two more start before the last check ends.
    assert.isBelow(ended.lastIndexOf("check"), 40 + 4)
    assert.lengthOf(
      ended.filter((one) => one === "check"),
      40
    )
  })

  it("rejects with too_busy when forty wait", async () => {
    const stored = await hashPassword("correct horse", { ln: 10 })
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, () =>
        verifyPassword("correct horse", stored).then(
          (isRight) => (isRight ? "right" : "wrong"),
          (error: unknown) => (error instanceof DoorhookError ? `${error.code} ${error.status}` : "another error")
        )
      )
    )
    const waited = outcomes.filter((outcome) => outcome === "right").length
    assert.isTrue(waited === 41 || waited === 42, `${waited} were checked`)
    assert.lengthOf(
      outcomes.filter((outcome) => outcome === "too_busy 503"),
      300 - waited
    )
    assert.isTrue(await verifyPassword("correct horse", stored))
  })
})
