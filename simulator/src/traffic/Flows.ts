/**
 * One day of one flow, whichever it is.
 */
import type { AnomalyFlow } from "./Anomalies.ts"
import { anomalyHappenings } from "./Anomalies.ts"
import type { EmployeeFlow } from "./Employees.ts"
import { employeeHappenings } from "./Employees.ts"
import type { FlowDay } from "./Flow.ts"
import type { Happening } from "./Happening.ts"
import type { OutsiderFlow } from "./Outsiders.ts"
import { outsiderHappenings } from "./Outsiders.ts"
import type { ResidentFlow } from "./Residents.ts"
import { residentHappenings } from "./Residents.ts"
import type { CleanerFlow, GuardFlow } from "./Staff.ts"
import { cleanerHappenings, guardHappenings } from "./Staff.ts"

export type Flow = ResidentFlow | EmployeeFlow | CleanerFlow | GuardFlow | OutsiderFlow | AnomalyFlow

/** The happenings of a day, in order of time. */
export const happeningsOfDay = (context: FlowDay<Flow>): IterableIterator<Happening> => {
  const { flow } = context
  switch (flow._tag) {
    case "Residents":
      return residentHappenings({ ...context, flow })
    case "Employees":
      return employeeHappenings({ ...context, flow })
    case "Cleaners":
      return cleanerHappenings({ ...context, flow })
    case "Guards":
      return guardHappenings({ ...context, flow })
    case "Outsiders":
      return outsiderHappenings({ ...context, flow })
    case "Anomalies":
      return anomalyHappenings({ ...context, flow })
  }
}
