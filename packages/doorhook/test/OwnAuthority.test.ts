/**
 * Receivers whose certificates come from the host's own certificate authority.
 */
import { assert, describe } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { createDoorhook } from "doorhook"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeAuthority, makeSelfSigned } from "@doorhook/testkit/hostile/Certificates"
import { serve } from "@doorhook/testkit/hostile/RawReceiver"
import { isSecure } from "@doorhook/testkit/hostile/Tls"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { codeOf, directory, event, integrate, live, mount, start, untilEnded } from "./harness/Embedded.ts"
import { runHere } from "./harness/InProcess.ts"

const authority = makeAuthority()
const retry = { access_log: [] }

/** Publishes an event to a receiver, and returns the outcome of its delivery. */
const deliveredTo = Effect.fnUntraced(function* (doorhook: Doorhook, receiver: string) {
  const { url } = yield* mount(doorhook)
  yield* integrate(url, receiver)
  const published = yield* Effect.promise(() => doorhook.publish(event))
  const ended = yield* untilEnded(doorhook, published.id)
  const [delivery] = yield* Effect.forEach(ended, ({ id }) => Effect.promise(() => doorhook.deliveries.show(id)))
  return delivery
})

const written = Effect.fnUntraced(function* (text: string) {
  const file = join(yield* temporaryFolder, "authorities.pem")
  yield* Effect.promise(() => writeFile(file, text))
  return file
})

describe("the host's own certificate authority", () => {
  live("is trusted in addition to others if a file contains it", function* () {
    const receiver = yield* serve(isSecure(authority), { scheme: "https" })
    const caFile = yield* written(`The building's:\n${makeSelfSigned("other.example").cert}\n${authority.cert}`)
    const delivery = yield* deliveredTo(yield* start({ caFile, retry }), receiver.url)
    assert.strictEqual(delivery?.state, "delivered")
  })

  live("is otherwise not trusted, and the explanation says what to do", function* () {
    const receiver = yield* serve(isSecure(authority), { scheme: "https" })
    const delivery = yield* deliveredTo(yield* start({ retry }), receiver.url)
    assert.strictEqual(delivery?.attempts[0]?.outcome, "tls")
    assert.include(delivery?.explanation.why ?? "", "add that with ca-file")
  })

  live("is refused at the start if the file has no certificate", function* () {
    const folder = yield* temporaryFolder
    const broken = `${authority.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
    for (const [caFile, said] of [
      [join(folder, "none.pem"), "can't be read: there is no such file"],
      [folder, "can't be read: it is a folder, not a file"],
      [yield* written("nothing"), "has no PEM certificate"],
      [yield* written(broken), "certificate 2 of "]
    ] as const) {
      const { code, message } = yield* codeOf(createDoorhook({ database: "memory", directory, caFile }))
      assert.strictEqual(code, "invalid_config")
      assert.isTrue(message.startsWith("caFile: "), message)
      assert.include(message, said)
      const refused = yield* runHere(["serve", "--database", "memory", "--ca-file", caFile])
      assert.deepStrictEqual([refused.code, refused.stdout], [3, ""])
      assert.match(refused.stderr, /^doorhook: caFile \(--ca-file\): [^\n]*\n$/)
    }
  })
})
