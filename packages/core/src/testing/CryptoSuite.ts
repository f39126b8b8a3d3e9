/**
 * The contract of `Crypto`.
 */
import { Effect } from "effect"
import { Base64, Base64Url, Hex } from "effect/encoding"
import { Crypto } from "../ports/Crypto.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { concurrently, expectEqual } from "./SuiteCase.ts"

const encoder = new TextEncoder()
const bytes = (text: string): Uint8Array => encoder.encode(text)
const repeated = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte)

/** Examples published with FIPS 180-4. */
const digests = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
  ],
  ["a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"]
] as const

/** Test cases 1, 2, 6 and 7 of RFC 4231, whose data is text. */
const codes = [
  [repeated(0x0b, 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
  [bytes("Jefe"), "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"],
  [
    repeated(0xaa, 131),
    "Test Using Larger Than Block-Size Key - Hash Key First",
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
  ],
  [
    repeated(0xaa, 131),
    "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
  ]
] as const

/** Tests 1 and 2 of RFC 8032 section 7.1, whose message is text: private key, public key, message, signature. */
const signatures = [
  [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
  ],
  [
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "r",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
  ]
] as const

/** Copies bytes into a longer buffer, and returns a view of the copy. */
const within = (inner: Uint8Array): Uint8Array => {
  const outer = new Uint8Array(inner.length + 20)
  outer.set(inner, 7)
  return outer.subarray(7, 7 + inner.length)
}

const joined = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))

const oddTexts = ["", "Café “Ü” \u{1f511}", "a\u0000b", "\ufeffé", "e\u0301"]

export const cases: ReadonlyArray<SuiteCase<Crypto>> = [
  {
    name: "sha256 follows FIPS 180-4, even for a view of a larger buffer, and returns a separate array to each caller",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      for (const [text, hex] of digests) {
        const first = yield* crypto.sha256(bytes(text))
        yield* expectEqual(`of ${text.length} bytes`, Hex.encode(first), hex)
        first.fill(0)
        yield* expectEqual("of a part", Hex.encode(yield* crypto.sha256(within(bytes(text)))), hex)
      }
    })
  },
  {
    name: "sha256Text hashes the text in UTF-8, and returns base64url without padding",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      yield* expectEqual("abc", yield* crypto.sha256Text("abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")
      for (const text of [...oddTexts, ...digests.map(([each]) => each)]) {
        const digest = yield* crypto.sha256(bytes(text))
        yield* expectEqual(`of ${text.slice(0, 20)}`, yield* crypto.sha256Text(text), Base64Url.encode(digest))
      }
    })
  },
  {
    name: "`hmacSha256` follows RFC 4231 and returns base64 with padding, even for a key that is a view of a larger buffer",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      for (const [key, text, hex] of codes) {
        for (const each of [key, key, within(key), Uint8Array.from(key)]) {
          const found = yield* crypto.hmacSha256(each, text)
          yield* expectEqual(
            text,
            [found.length, found],
            [44, Base64.encode(yield* Effect.fromResult(Hex.decode(hex)))]
          )
        }
      }
    })
  },
  {
    name: "`hmacSha256` accepts any key and any text in UTF-8, even concurrently",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      yield* concurrently(
        70,
        Effect.fnUntraced(function* (n) {
          const key = repeated(n + 1, n + 1)
          const text = oddTexts[n % oddTexts.length] ?? ""
          // RFC 2104: H(K xor opad, H(K xor ipad, text)). A key longer than a block is hashed first.
          const block = new Uint8Array(64)
          block.set(key.length > 64 ? yield* crypto.sha256(key) : key)
          const inner = yield* crypto.sha256(
            joined(
              block.map((byte) => byte ^ 0x36),
              bytes(text)
            )
          )
          const outer = yield* crypto.sha256(
            joined(
              block.map((byte) => byte ^ 0x5c),
              inner
            )
          )
          yield* expectEqual(`${n}`, yield* crypto.hmacSha256(key, text), Base64.encode(outer))
        })
      )
    })
  },
  {
    name: "Ed25519 follows RFC 8032, even for a key that is a view of a larger buffer, and signs text in UTF-8",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      const read = (hex: string) => Effect.fromResult(Hex.decode(hex))
      for (const [privateHex, publicHex, text, signatureHex] of signatures) {
        const privateKey = yield* read(privateHex)
        for (const key of [privateKey, within(privateKey)]) {
          yield* expectEqual("public key", Hex.encode(yield* crypto.ed25519PublicKey(key)), publicHex)
          const signature = Base64.encode(yield* read(signatureHex))
          yield* expectEqual("signature", yield* crypto.ed25519Sign(key, text), signature)
        }
      }
      const key = repeated(7, 32)
      const signed = yield* Effect.forEach(oddTexts, (text) => crypto.ed25519Sign(key, text))
      yield* expectEqual("number of different signatures", new Set(signed).size, oddTexts.length)
    })
  },
  {
    name: "`randomBytes` returns the requested number of bytes, and each of the 256 values occurs",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      for (const length of [0, 1, 16, 32, 511, 512, 513, 4_095, 4_096, 4_097, 65_536]) {
        yield* expectEqual("length", crypto.randomBytes(length).length, length)
      }
      // The chance that a value is missing is 1 in 10^108.
      yield* expectEqual("values", new Set(crypto.randomBytes(65_536)).size, 256)
    })
  },
  {
    name: "`randomBytes` returns different bytes each time, and never changes them later",
    run: Effect.gen(function* () {
      const crypto = yield* Crypto
      const drawn = Array.from({ length: 1_000 }, () => crypto.randomBytes(16)).map((each) => ({
        each,
        hex: Hex.encode(each)
      }))
      yield* expectEqual("different", new Set(drawn.map(({ hex }) => hex)).size, 1_000)
      // Changing one result must not affect others.
      drawn[0]?.each.fill(0)
      crypto.randomBytes(65_536)
      const changed = drawn.slice(1).filter(({ each, hex }) => Hex.encode(each) !== hex)
      yield* expectEqual("changed", changed.length, 0)
    })
  }
]
