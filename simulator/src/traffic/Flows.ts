/** One day of any flow. */
import type { AnomalyFlow } from "./Anomalies.ts"
import { anomalyOccurrences } from "./Anomalies.ts"
import type { EmployeeFlow } from "./Employees.ts"
import { employeeOccurrences } from "./Employees.ts"
import type { FlowDay } from "./Flow.ts"
import type { Occurrence } from "./Occurrence.ts"
import type { OutsiderFlow } from "./Outsiders.ts"
import { outsiderOccurrences } from "./Outsiders.ts"
import type { ResidentFlow } from "./Residents.ts"
import { residentOccurrences } from "./Residents.ts"
import type { CleanerFlow, GuardFlow } from "./Staff.ts"
import { cleanerOccurrences, guardOccurrences } from "./Staff.ts"

export type Flow = ResidentFlow | EmployeeFlow | CleanerFlow | GuardFlow | OutsiderFlow | AnomalyFlow

/** Yields the occurrences of a day, in order of time. */
export const occurrencesOfDay = (context: FlowDay<Flow>): IterableIterator<Occurrence> => {
  const { flow } = context
  switch (flow._tag) {
    case "Residents":
      return residentOccurrences({ ...context, flow })
    case "Employees":
      return employeeOccurrences({ ...context, flow })
    case "Cleaners":
      return cleanerOccurrences({ ...context, flow })
    case "Guards":
      return guardOccurrences({ ...context, flow })
    case "Outsiders":
      return outsiderOccurrences({ ...context, flow })
    case "Anomalies":
      return anomalyOccurrences({ ...context, flow })
  }
}
