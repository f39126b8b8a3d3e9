/**
 * A run with the engine in this process: the ledger beside it knows what became of each event.
 */
import { Effect, Schedule } from "effect"
import type { Scope } from "effect"
import { IpNetwork } from "effect/net"
import { child, root } from "../../random/Substream.ts"
import { ownEngine } from "../../run/OwnEngine.ts"
import type { OwnEngineOptions } from "../../run/OwnEngine.ts"
import type { RunSettings } from "../ReadRun.ts"
import type { Course } from "./Course.ts"
import type { Prepared } from "./Prepared.ts"

/** Whoever names a receiver on the command line may reach it, wherever it is. */
const anywhere = ["0.0.0.0/0", "::/0"].map(IpNetwork.fromStringUnsafe)

export const prepareOwn = Effect.fnUntraced(function* (
  settings: RunSettings,
  options: Pick<
    OwnEngineOptions,
    "measurements" | "integrations" | "urlOf" | "receiverOf" | "send" | "secret" | "crypto"
  >,
  course: Course,
  kind: "receiver" | "in-process",
  name: string
): Effect.fn.Return<Prepared, never, Scope.Scope> {
  const { ackTimeout, retry } = settings
  const { finish, ledger, target } = yield* ownEngine({
    ...options,
    settings: { ackTimeout, retry, allow: anywhere },
    seed: child(root(settings.options.seed), "run"),
    timeOf: course.timeOf
  })
  const isOver = Effect.sync(() => ledger.open === 0)
  return {
    kind,
    name,
    integrations: options.integrations.length,
    target,
    observer: { accepted: () => {} },
    accounts: {
      settle: (grace) =>
        isOver.pipe(
          Effect.repeat({ until: (over) => over, schedule: Schedule.spaced("20 millis") }),
          Effect.timeoutOption(grace),
          // Whoever ends the waiting wants to know how it stands all the same.
          Effect.ensuring(finish)
        ),
      judged: () => ({
        lost: ledger.brokenIn("nothing-lost"),
        broken: ledger.broken,
        violations: ledger.violations
      }),
      silence: () => null
    }
  }
})
