/**
 * A run against a service: it publishes, and asks the service what became of each event.
 */
import { Effect } from "effect"
import { Accounting } from "../../run/Accounting.ts"
import type { Measurements } from "../../results/Measurements.ts"
import { serviceTarget } from "../../run/OperatorApi.ts"
import type { Course } from "./Course.ts"
import type { Prepared } from "./Prepared.ts"

export const prepareService = (
  service: Parameters<typeof serviceTarget>[0],
  measurements: Measurements,
  course: Course
): Prepared => {
  const accounting = new Accounting(service, measurements, course.timeOf)
  const target = serviceTarget(service)
  let lost: number | null = null
  let silence: string | null = "it was not asked"
  return {
    kind: "service",
    name: `against ${service.url}`,
    integrations: 0,
    target: {
      ...target,
      greet: Effect.flatMap(target.greet, (answer) =>
        answer._tag === "Accepted"
          ? Effect.map(accounting.begin(), (denial) => denial ?? answer)
          : Effect.succeed(answer)
      )
    },
    observer: { accepted: (events) => accounting.accepted(events) },
    accounts: {
      settle: (grace) =>
        Effect.map(accounting.settle(grace), ({ missing, why }) => {
          lost = why === null ? missing : null
          silence = why
        }),
      judged: () => ({ lost, broken: 0, violations: [] }),
      silence: () => silence
    }
  }
}
