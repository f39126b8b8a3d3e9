/**
 * One day of one flow, whichever it is.
 */
import { anomalyHappenings } from "./Anomalies.ts"
import { employeeHappenings } from "./Employees.ts"
import type { Flow } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import type { Happening } from "./Happening.ts"
import { outsiderHappenings } from "./Outsiders.ts"
import { residentHappenings } from "./Residents.ts"

/** The happenings of a day, in order of time. */
export const happeningsOfDay = (context: FlowDay<Flow>): IterableIterator<Happening> => {
  const { flow } = context
  switch (flow._tag) {
    case "Residents":
      return residentHappenings({ ...context, flow })
    case "Employees":
      return employeeHappenings({ ...context, flow })
    case "Outsiders":
      return outsiderHappenings({ ...context, flow })
    case "Anomalies":
      return anomalyHappenings({ ...context, flow })
  }
}
