/**
 * The engine, broken in one way after another, each with the check that must notification.
 */
import type { Variant } from "./Breaking.ts"
import { catchingUpVariants } from "./CatchingUpVariants.ts"
import { changingVariants } from "./ChangingVariants.ts"
import { keepingVariants } from "./RetentionVariants.ts"
import { leasingVariants } from "./LeasingVariants.ts"
import { sendingVariants } from "./SendingVariants.ts"

export type { Variant } from "./Breaking.ts"

export const variants: ReadonlyArray<Variant> = [
  ...sendingVariants,
  ...leasingVariants,
  ...changingVariants,
  ...keepingVariants,
  ...catchingUpVariants
]
