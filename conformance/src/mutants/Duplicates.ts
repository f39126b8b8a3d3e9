/**
 * Faults in what is done about an event that comes again.
 */
import { createHash } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import { acknowledged, plain } from "../receivers/Parts.ts"
import type { Change } from "../receivers/Server.ts"
import { checkThenAct, dropsCopiesWhileRunning, fault, pause } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const seen = fault(1)
const probed = fault(2)
const aged = fault(2, "clock")
const shared = fault(2, "tenant")

/** Answers a duplicate with a status. */
const duplicateAnswered =
  (status: number, body: string): Change =>
  () => ({ answer: (_, isNew) => (isNew ? acknowledged : plain(status, body)) })

/** Knows duplicates by something else. */
const knownBy =
  (key: (text: { body: string; header: (name: string) => string; id: string; scope: string }) => string): Change =>
  () => ({
    key: ({ body, id, request, scope }) =>
      key({ body, id, scope, header: (name) => String(request.headers[name] ?? "") })
  })

const hash = (text: string): string => createHash("sha256").update(text).digest("hex")

const hour = 3_600_000

/** Forgets what it has seen after a while. */
const forgetsAfter =
  (age: number): Change =>
  (correct, { ledger, now }) => ({
    keep: (message) => {
      ledger.forgetBefore(now() - age)
      return correct.keep(message)
    }
  })

export const duplicateFaults: ReadonlyArray<Fault> = [
  seen("duplicate-409", "R-DUP-01", "Answers 409 Conflict to a duplicate.", duplicateAnswered(409, "already there")),
  seen("duplicate-208", "R-DUP-01", "Answers 208 Already Reported to a duplicate.", duplicateAnswered(208, "known")),
  seen(
    "duplicate-422",
    "R-DUP-01",
    "Answers 422 to a duplicate: validation says the id is taken.",
    duplicateAnswered(422, "id taken")
  ),
  seen(
    "duplicate-500",
    "R-DUP-01",
    "Lets the unique constraint end in a 500.",
    duplicateAnswered(500, "UNIQUE constraint failed")
  ),
  seen("retries-refused", "R-DUP-01", "Refuses attempts after the first as replays.", () => ({
    answer: ({ request }) => (request.headers["doorhook-attempt"] === "1" ? acknowledged : plain(403, "replayed"))
  })),
  probed("no-memory", "R-DUP-02", "Drops no duplicates.", (_, { ledger }) => ({
    keep: (message) => {
      ledger.act(message)
      return true
    }
  })),
  probed("twice-at-once", "R-DUP-02", "Has two subscribers that both do the same.", (correct, { ledger }) => ({
    keep: async (message) => {
      const isNew = await correct.keep(message)
      if (isNew) ledger.act(message)
      return isNew
    }
  })),
  probed(
    "queued-again",
    "R-DUP-02",
    "Drops a duplicate, and a job that was queued for it acts all the same, a while later.",
    (correct, { ledger }) => ({
      keep: async (message) => {
        const isNew = await correct.keep(message)
        // What comes after its end has no effect any more.
        if (!isNew)
          void pause(900)
            .then(() => ledger.act(message))
            .catch(() => undefined)
        return isNew
      }
    })
  ),
  probed(
    "by-attempt",
    "R-DUP-02",
    "Knows duplicates by id and attempt number.",
    knownBy(({ header, id }) => `${id}/${header("doorhook-attempt")}`)
  ),
  probed(
    "by-timestamp",
    "R-DUP-02",
    "Knows duplicates by id and timestamp, which is that of the attempt.",
    knownBy(({ header, id }) => `${id}/${header("webhook-timestamp")}/${header("doorhook-attempt")}`)
  ),
  probed("by-worker", "R-DUP-02", "Has four workers, each with a memory of its own.", () => {
    let requests = 0
    return { key: ({ id }) => `${id}/${requests++ % 4}` }
  }),
  probed("while-running", "R-DUP-02", "Drops a duplicate only while the first is worked on.", (_, { ledger }) =>
    dropsCopiesWhileRunning(5, (message) => {
      ledger.act(message)
      return true
    })
  ),
  probed(
    "by-bytes",
    "R-DUP-03",
    "Knows duplicates by a hash of the body's bytes.",
    knownBy(({ body }) => hash(body))
  ),
  probed(
    "by-length-and-start",
    "R-DUP-03",
    "Knows duplicates by the length of the body and its id.",
    knownBy(({ body, id }) => `${id}/${body.length}`)
  ),
  probed("by-connection", "R-DUP-03", "Keeps what it has seen with the connection.", () => {
    const bySocket = new WeakMap<object, number>()
    let sockets = 0
    return {
      key: ({ id, request: { socket } }) => {
        if (!bySocket.has(socket)) bySocket.set(socket, ++sockets)
        return `${id}/${bySocket.get(socket)}`
      }
    }
  }),
  probed("check-then-act", "R-DUP-04", "Looks whether it knows the id, then works, then marks it.", checkThenAct(25)),
  probed(
    "one-turn-between",
    "R-DUP-04",
    "Looks whether it knows the id and marks it a turn of the event loop later.",
    (_, { ledger, now }) => ({
      keep: async (message) => {
        if (ledger.isKnown(message.key)) return false
        await setImmediate()
        ledger.act(message)
        return ledger.mark(message.key, now())
      }
    })
  ),
  probed(
    "unique-too-late",
    "R-DUP-04",
    "Acts before the insert that finds out the duplicate.",
    (_, { ledger, now }) => ({
      keep: async (message) => {
        if (ledger.isKnown(message.key)) return false
        ledger.act(message)
        await pause(15)
        return ledger.mark(message.key, now())
      }
    })
  ),
  probed("deadlock", "R-DUP-04", "Lets copies that come together wait for each other for ever.", (correct) => {
    const running = new Set<string>()
    return {
      keep: async (message) => {
        if (running.has(message.key)) return new Promise(() => undefined)
        running.add(message.key)
        await pause(25)
        running.delete(message.key)
        return correct.keep(message)
      }
    }
  }),
  probed("last-twenty", "R-DUP-05", "Remembers the last twenty ids only.", (correct, { ledger }) => ({
    keep: (message) => {
      ledger.forgetAllBut(20)
      return correct.keep(message)
    }
  })),
  probed("last-one", "R-DUP-05", "Remembers the last id only.", (correct, { ledger }) => ({
    keep: (message) => {
      ledger.forgetAllBut(1)
      return correct.keep(message)
    }
  })),
  aged("five-minutes", "R-DUP-06", "Remembers ids for five minutes, as an old tutorial says.", forgetsAfter(hour / 12)),
  aged("one-day", "R-DUP-06", "Remembers ids for a day; retries come for three.", forgetsAfter(24 * hour)),
  aged("late-refused", "R-DUP-06", "Refuses what was first sent more than a day ago.", (_, { now }) => {
    const first = new Map<string, number>()
    return {
      answer: ({ key }) => {
        const since = first.get(key) ?? now()
        first.set(key, since)
        return now() - since > 24 * hour ? plain(410, "too late") : acknowledged
      }
    }
  }),
  probed("last-wins", "R-DUP-07", "Writes a later body over the first one.", (correct, { ledger }) => ({
    keep: async (message) => {
      const isNew = await correct.keep(message)
      if (!isNew) ledger.restore(message)
      return isNew
    }
  })),
  shared(
    "one-scope",
    "R-DUP-08",
    "Drops an event at one URL because another URL had it.",
    knownBy(({ id }) => id)
  )
]
