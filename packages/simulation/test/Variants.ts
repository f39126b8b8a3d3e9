/**
 * The engine, broken in one way after another, each with the check that must notice.
 */
import type { Variant } from "./Breakage.ts"
import { catchUpVariants } from "./CatchUpVariants.ts"
import { changeVariants } from "./ChangeVariants.ts"
import { retentionVariants } from "./RetentionVariants.ts"
import { leaseVariants } from "./LeaseVariants.ts"
import { dispatchVariants } from "./DispatchVariants.ts"

export type { Variant } from "./Breakage.ts"

export const variants: ReadonlyArray<Variant> = [
  ...dispatchVariants,
  ...leaseVariants,
  ...changeVariants,
  ...retentionVariants,
  ...catchUpVariants
]
