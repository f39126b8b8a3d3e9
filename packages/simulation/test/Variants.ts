/** All variants of a broken engine, each with the check that must fail. */
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
