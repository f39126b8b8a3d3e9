/**
 * Every requirement of this version, in the order of reports.
 */
import { requirement as ack01 } from "./R-ACK-01.ts"
import { requirement as ack02 } from "./R-ACK-02.ts"
import { requirement as ack03 } from "./R-ACK-03.ts"
import { requirement as ack04 } from "./R-ACK-04.ts"
import { requirement as dup01 } from "./R-DUP-01.ts"
import { requirement as fwd01 } from "./R-FWD-01.ts"
import { requirement as fwd02 } from "./R-FWD-02.ts"
import type { Requirement } from "./Requirement.ts"

export const requirements: ReadonlyArray<Requirement> = [ack01, ack02, ack03, ack04, dup01, fwd01, fwd02]
