/**
 * An attempt must fit into what is left of its lease, or somebody else can begin another one meanwhile.
 */
import type { Lease } from "@doorhook/core"

/** How much is left of a lease, in milliseconds, where that is too little for an attempt; null where it is enough. */
export const tooLittleLeft = ({ until }: Lease, clock: number, ackTimeout: number): number | null =>
  until - clock >= ackTimeout ? null : until - clock
