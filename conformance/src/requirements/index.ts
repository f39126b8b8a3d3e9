/**
 * Every requirement of this version, in the order of reports.
 */
import { requirement as ack01 } from "./R-ACK-01.ts"
import { requirement as ack02 } from "./R-ACK-02.ts"
import { requirement as ack03 } from "./R-ACK-03.ts"
import { requirement as ack04 } from "./R-ACK-04.ts"
import { requirement as ack05 } from "./R-ACK-05.ts"
import { requirement as cra01 } from "./R-CRA-01.ts"
import { requirement as cra02 } from "./R-CRA-02.ts"
import { requirement as cra03 } from "./R-CRA-03.ts"
import { requirement as cra04 } from "./R-CRA-04.ts"
import { requirement as dup01 } from "./R-DUP-01.ts"
import { requirement as dup02 } from "./R-DUP-02.ts"
import { requirement as dup03 } from "./R-DUP-03.ts"
import { requirement as dup04 } from "./R-DUP-04.ts"
import { requirement as dup05 } from "./R-DUP-05.ts"
import { requirement as dup06 } from "./R-DUP-06.ts"
import { requirement as dup07 } from "./R-DUP-07.ts"
import { requirement as dup08 } from "./R-DUP-08.ts"
import { requirement as fwd01 } from "./R-FWD-01.ts"
import { requirement as fwd02 } from "./R-FWD-02.ts"
import { requirement as get01 } from "./R-GET-01.ts"
import { requirement as http01 } from "./R-HTTP-01.ts"
import { requirement as http02 } from "./R-HTTP-02.ts"
import { requirement as http03 } from "./R-HTTP-03.ts"
import { requirement as http04 } from "./R-HTTP-04.ts"
import { requirement as http05 } from "./R-HTTP-05.ts"
import { requirement as http06 } from "./R-HTTP-06.ts"
import { requirement as http07 } from "./R-HTTP-07.ts"
import { requirement as http08 } from "./R-HTTP-08.ts"
import { requirement as http09 } from "./R-HTTP-09.ts"
import { requirement as late01 } from "./R-LATE-01.ts"
import { requirement as late02 } from "./R-LATE-02.ts"
import { requirement as late03 } from "./R-LATE-03.ts"
import { requirement as los01 } from "./R-LOS-01.ts"
import { requirement as los02 } from "./R-LOS-02.ts"
import { requirement as los03 } from "./R-LOS-03.ts"
import { requirement as new01 } from "./R-NEW-01.ts"
import { requirement as ord01 } from "./R-ORD-01.ts"
import { requirement as sig01 } from "./R-SIG-01.ts"
import { requirement as sig02 } from "./R-SIG-02.ts"
import { requirement as sig03 } from "./R-SIG-03.ts"
import { requirement as sig04 } from "./R-SIG-04.ts"
import { requirement as sig05 } from "./R-SIG-05.ts"
import { requirement as sig06 } from "./R-SIG-06.ts"
import { requirement as sig07 } from "./R-SIG-07.ts"
import { requirement as sig08 } from "./R-SIG-08.ts"
import { requirement as sig09 } from "./R-SIG-09.ts"
import type { Requirement } from "./Requirement.ts"

export const requirements: ReadonlyArray<Requirement> = [
  ack01,
  ack02,
  ack03,
  ack04,
  ack05,
  dup01,
  dup02,
  dup03,
  dup04,
  dup05,
  dup06,
  dup07,
  dup08,
  new01,
  los01,
  los02,
  los03,
  late01,
  late02,
  late03,
  cra01,
  cra02,
  cra03,
  cra04,
  ord01,
  fwd01,
  fwd02,
  http01,
  http02,
  http03,
  http04,
  http05,
  http06,
  http07,
  http08,
  http09,
  sig01,
  sig02,
  sig03,
  sig04,
  sig05,
  sig06,
  sig07,
  sig08,
  sig09,
  get01
]
