import { Parameters } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { MultipartParser } from "effect/http"
import fc from "fast-check"
import { readParameters } from "../../src/oauth/FormBody.ts"

interface Part {
  readonly name: string
  readonly content: Uint8Array
  /** Additional headers, each with its line break. */
  readonly headers: string
}

const encoder = new TextEncoder()

/** A field's name as browsers escape it. */
const escaped = (name: string): string =>
  name.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22").replaceAll("\\", "%5C")

const names = fc.oneof(
  fc.constantFrom("grant_type", "client_id", "client_secret", "refresh_token", "code", ""),
  fc.string({ unit: "grapheme", maxLength: 12 }).filter((name) => !/\p{Cc}/u.test(name))
)

/** Random contents, some of which look like multipart syntax. */
const contents = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }).map((text) => encoder.encode(text)),
  fc.uint8Array({ maxLength: 60 }),
  fc
    .array(fc.constantFrom("\r\n", "--", "\r", "\n", "-", "b", ":", "x", "\ufeff"), { maxLength: 20 })
    .map((texts) => encoder.encode(texts.join("")))
)

const headers = fc.constantFrom(
  "",
  "Content-Type: text/plain\r\n",
  "content-type: text/plain; charset=utf-8\r\n",
  'Content-Type: text/plain;charset="ISO-8859-1"\r\n',
  "Content-Type: text/plain; charset=utf-16le\r\n",
  "Content-Type: text/plain; charset=nobody-knows\r\n",
  "Content-Transfer-Encoding: 8bit\r\nX-Empty:\r\n"
)

const parts: fc.Arbitrary<Part> = fc.record({ name: names, content: contents, headers })

const boundaries = fc.oneof(
  fc.constantFrom("b", "--b", "----WebKitFormBoundaryAbC123", "'()+_,-./:=?"),
  fc.string({ unit: fc.constantFrom(...Array.from("abcXYZ09-_")), minLength: 1, maxLength: 70 })
)

const isInside = (content: Uint8Array, delimiter: string): boolean => Buffer.from(content).includes(delimiter)

const bodies = fc
  .record({
    boundary: boundaries,
    parts: fc.array(parts, { maxLength: 12 }),
    preamble: fc.constantFrom("", "\r\n", "This is a preamble.\r\n"),
    disposition: fc.constantFrom("Content-Disposition: form-data; name=", "content-disposition:FORM-DATA ; Name ="),
    last: fc.constantFrom("", "\r\n", "\r\nAn epilogue.\r\n")
  })
  .filter(({ boundary, parts }) => !parts.some(({ content }) => isInside(content, `--${boundary}`)))

type Body = typeof bodies extends fc.Arbitrary<infer B> ? B : never

const contentTypeOf = ({ boundary }: Body): string =>
  `multipart/form-data; boundary=${/^[\w-]+$/.test(boundary) ? boundary : `"${boundary}"`}`

const written = ({ boundary, disposition, last, parts, preamble }: Body): Buffer =>
  Buffer.concat([
    Buffer.from(preamble),
    ...parts.map(({ content, headers, name }, at) =>
      Buffer.concat([
        Buffer.from(`${at === 0 ? "" : "\r\n"}--${boundary}\r\n${disposition}"${escaped(name)}"\r\n${headers}\r\n`),
        content
      ])
    ),
    Buffer.from(`${parts.length === 0 ? "" : "\r\n"}--${boundary}--${last}`)
  ])

/** The pairs that Effect's streaming parser finds; null for an error or a file. */
const referencePairs = (contentType: string, bytes: Uint8Array): ReadonlyArray<readonly [string, string]> | null => {
  const pairs: Array<readonly [string, string]> = []
  let isDone = false
  let isFaulty = false
  const parser = MultipartParser.make({
    headers: { "content-type": contentType },
    maxParts: 50,
    onField: (info, value) => pairs.push([info.name, MultipartParser.decodeField(info, value)]),
    onFile: () => {
      isFaulty = true
      return () => undefined
    },
    onError: () => {
      isFaulty = true
    },
    onDone: () => {
      isDone = true
    }
  })
  parser.write(bytes)
  parser.end()
  return isDone && !isFaulty ? pairs : null
}

/** The parameters of a body, or the error code of its refusal. */
const read = (contentType: string, body: Uint8Array) =>
  Result.match(Effect.runSync(Effect.result(readParameters(contentType, body))), {
    onSuccess: (parameters) => parameters,
    onFailure: (error) => (error._tag === "OAuthError" ? error.error : error._tag)
  })

const multipart = (body: string) => read("multipart/form-data; boundary=b", Buffer.from(body))
const part = (head: string, content = "v") => `--b\r\n${head}\r\n\r\n${content}\r\n`
const field = (name: string, content = "v") => part(`Content-Disposition: form-data; name="${name}"`, content)
const pairs = (...list: ReadonlyArray<readonly [string, string]>) => Parameters.fromPairs(list)

describe("a multipart body", () => {
  it("yields the same parameters as with a streaming parser", () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const bytes = written(body)
        const expected = referencePairs(contentTypeOf(body), bytes)
        if (expected === null) return assert.fail("the reference does not take it")
        assert.deepStrictEqual(read(contentTypeOf(body), bytes), Parameters.fromPairs(expected))
      }),
      { numRuns: 2_000 }
    )
  })

  it("is refused wherever it is cut off", () => {
    fc.assert(
      fc.property(bodies, fc.nat(), (body, at) => {
        const bytes = written({ ...body, last: "" })
        assert.strictEqual(read(contentTypeOf(body), bytes.subarray(0, at % bytes.length)), "invalid_request")
      }),
      { numRuns: 1_000 }
    )
  })

  it("is parsed or refused, whatever its bytes", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...Array.from('\r\n-:;"\\b\0=é')), fc.nat(4)), {
      maxLength: 6
    })
    fc.assert(
      fc.property(bodies, damage, (body, places) => {
        let bytes = written(body)
        for (const [at, inserted, removed] of places) {
          const from = at % bytes.length
          bytes = Buffer.concat([bytes.subarray(0, from), Buffer.from(inserted), bytes.subarray(from + removed)])
        }
        const found = read(contentTypeOf(body), bytes)
        assert.isTrue(found === "invalid_request" || typeof found === "object")
      }),
      { numRuns: 3_000 }
    )
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.uint8Array(), (parameters, bytes) => {
        const found = read(`multipart/form-data;${parameters}`, bytes)
        assert.isTrue(found === "invalid_request" || typeof found === "object")
      })
    )
  })

  it("is refused within a second, however malicious it is", () => {
    for (const repeated of ["\r\n--b", "--b\r\n", "\r\n\r\n", "\r", ';a="', 'x: "\\'.repeat(3)]) {
      const hostile = repeated.repeat(Math.floor(65_536 / repeated.length))
      for (const body of [hostile, `--b\r\n${hostile}`, part(`Content-Disposition: form-data; name=${hostile}`)]) {
        const began = performance.now()
        assert.strictEqual(multipart(body), "invalid_request")
        assert.isBelow(performance.now() - began, 1_000)
      }
      const began = performance.now()
      assert.strictEqual(read(`multipart/form-data;${hostile}`, Buffer.from("x")), "invalid_request")
      assert.isBelow(performance.now() - began, 1_000)
    }
  })

  it("may have up to 50 fields", () => {
    const fields = Array.from({ length: 50 }, (_, at) => field(`f${at}`)).join("")
    assert.strictEqual(Object(multipart(`${fields}--b--`)).values.size, 50)
    assert.strictEqual(multipart(`${fields}${field("f50")}--b--`), "invalid_request")
  })

  it("has no parameters without a field, and is refused when it is empty", () => {
    assert.deepStrictEqual(multipart("--b--"), pairs())
    assert.strictEqual(multipart(""), "invalid_request")
  })

  it("is refused when its headers run into a delimiter that could be a header", () => {
    const body = Buffer.from('--b:c\r\nContent-Disposition: form-data; name="x"\r\n--b:c--\r\n\r\n')
    assert.strictEqual(read('multipart/form-data; boundary="b:c"', body), "invalid_request")
  })

  it("may have blanks after a delimiter, and names outside ASCII", () => {
    const padded = field("é").replace("--b", "--b \t")
    assert.deepStrictEqual(multipart(`${padded}--b--`), pairs(["é", "v"]))
  })

  it("keeps the first of two fields with the same name, and reports the second", () => {
    const found = multipart(`${field("code", "1")}${field("code", "2")}--b--`)
    assert.deepStrictEqual(found, pairs(["code", "1"], ["code", "2"]))
  })

  it.each([
    ["a file", part('Content-Disposition: form-data; name="x"; filename="y"')],
    ["a file with an encoded name", part("Content-Disposition: form-data; name=x; filename*=utf-8''y")],
    ["bytes", part('Content-Disposition: form-data; name="x"\r\nContent-Type: application/octet-stream')],
    ["no disposition", part("Content-Type: text/plain")],
    ["another disposition", part('Content-Disposition: attachment; name="x"')],
    ["two dispositions", part('Content-Disposition: form-data; name="x"\r\nContent-Disposition: form-data; name="y"')],
    ["two names", part('Content-Disposition: form-data; name="x"; name="y"')],
    ["no name", part("Content-Disposition: form-data")],
    ["no headers", "--b\r\n\r\nv\r\n"],
    ["a malformed header", part('Content-Disposition: form-data; name="x"\r\nnonsense')],
    ["a folded header", part('Content-Disposition: form-data;\r\n name="x"')],
    ["bare line feeds", field("x").replaceAll("\r\n", "\n")],
    ["headers that run into the next delimiter", '--b\r\nContent-Disposition: form-data; name="x"\r\n']
  ])("is refused with %s", (_, body) => {
    assert.strictEqual(multipart(`${body}--b--`), "invalid_request")
    assert.strictEqual(multipart(body), "invalid_request")
  })

  it.each(["", "; boundary", "; boundary=", '; boundary=""', "; boundary=b; boundary=b", "; boundary=b;"])(
    "is refused without a boundary: multipart/form-data%s",
    (parameters) => {
      assert.strictEqual(read(`multipart/form-data${parameters}`, Buffer.from(`${field("x")}--b--`)), "invalid_request")
    }
  )
})

describe("a body of another type", () => {
  const form = (body: string) => read("Application/X-WWW-Form-Urlencoded; charset=utf-8", Buffer.from(body))

  it("is decoded like a form", () => {
    assert.deepStrictEqual(
      form("?a=1&b=x+y%20%C3%A9&c&=d&e=%FF"),
      pairs(["?a", "1"], ["b", "x y é"], ["", "d"], ["e", "\ufffd"])
    )
  })

  it("is refused if it is not UTF-8, and null for an unknown type", () => {
    assert.strictEqual(read("application/x-www-form-urlencoded", new Uint8Array([0xff])), "BodyUnreadable")
    assert.isNull(read("text/plain", Buffer.from("x")))
    assert.deepStrictEqual(read("text/plain", new Uint8Array()), pairs())
  })
})
