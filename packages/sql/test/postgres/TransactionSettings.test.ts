/**
 * Settings travel with each transaction, and nothing of them reaches the client.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { TransactionSettings } from "../../src/postgres/TransactionSettings.ts"

/** A message: a letter, the length of the rest, and a body. */
const message = (letter: string, body = ""): Buffer => {
  const bytes = Buffer.alloc(5 + body.length)
  bytes.write(letter, 0)
  bytes.writeInt32BE(4 + body.length, 1)
  bytes.write(body, 5)
  return bytes
}

const ready = (status: "I" | "T" | "E") => message("Z", status)
const accepted = [message("1"), message("2"), message("D", "doorhook"), message("C", "SELECT 1\0")]
const answer = [message("1"), message("2"), message("T", "columns"), message("D", "row"), message("C", "SELECT 1\0")]
const packet = Buffer.from("P a statement up to Sync")

/** A session that has begun. */
const begun = () => {
  const settings = new TransactionSettings({ search_path: "it's" })
  const startup = [message("R", "ok"), message("S", "a\0b\0"), ready("I")]
  assert.deepEqual(settings.receive(Buffer.concat(startup)), Buffer.concat(startup))
  return settings
}

describe("settings of transactions", () => {
  it("precede each statement outside a transaction block, and no other", () => {
    const settings = new TransactionSettings({ search_path: "it's" })
    assert.strictEqual(settings.send(packet), packet, "a packet of the startup")
    settings.receive(ready("I"))
    for (const status of ["I", "T", "T", "E", "I"] as const) {
      const sent = settings.send(packet)
      assert.match(
        sent.toString("latin1"),
        /^P.*set_config\('search_path', 'it''s', true\).*P a statement up to Sync$/s
      )
      settings.receive(Buffer.concat([...accepted, ...answer, ready(status)]))
      if (status === "I") continue
      assert.strictEqual(settings.send(packet), packet, "a packet in a block")
      settings.receive(Buffer.concat([...answer, ready("I")]))
    }
    const terminate = message("X")
    assert.strictEqual(settings.send(terminate), terminate)
  })

  it("have their answer removed, wherever the bytes are divided, and nothing else", () => {
    const notice = message("N", "in between")
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 12 }), fc.nat(4), (cuts, place) => {
        const settings = begun()
        settings.send(packet)
        const wanted = [notice, ...answer, ready("T"), ...answer, ready("I")]
        const all = Buffer.concat([...accepted.slice(0, place), notice, ...accepted.slice(place), ...wanted.slice(1)])
        const ends = [...cuts.toSorted((a, b) => a - b), all.length]
        const parts = ends.map((end, index) => settings.receive(all.subarray(ends[index - 1] ?? 0, end)))
        assert.deepEqual(Buffer.concat(parts), Buffer.concat(wanted))
      })
    )
  })

  it("that the server refuses show its error", () => {
    const settings = begun()
    settings.send(packet)
    const refusal = Buffer.concat([message("E", "no such setting"), ready("I")])
    assert.deepEqual(settings.receive(Buffer.concat([message("1"), refusal])), refusal)
    settings.send(packet)
    assert.deepEqual(settings.receive(Buffer.concat([...accepted, ...answer])), Buffer.concat(answer))
  })
})
