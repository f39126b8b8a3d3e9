/**
 * The way from the engine to modelled receivers. What each request shows on its way is held against the rules.
 */
import type { DeliverySettingsShape, TransportRequest, TransportResult } from "@doorhook/core"
import { Acknowledgement, builtInTypes, laneOf, placesFor, Signature, Transport } from "@doorhook/core"
import type { Process } from "../engine/time/Process.ts"
import type { VirtualTime } from "../engine/time/VirtualTime.ts"
import type { Ledger, Tracked } from "../results/Ledger.ts"
import type { Measurements } from "../results/Measurements.ts"
import type { Target, Targets } from "./Targets.ts"

export interface NetworkOptions {
  readonly time: VirtualTime
  readonly ledger: Ledger
  readonly measurements: Measurements
  readonly targets: Targets
  readonly settings: Pick<DeliverySettingsShape, "concurrency" | "concurrencyPerIntegration">
  readonly workers: number
  /** When the run began, in milliseconds since the epoch. */
  readonly beginning: number
  /** A request has just begun, that takes so long. */
  readonly begun: (process: Process, elapsed: number) => void
}

/** The share of all places beyond which retries wait for one. */
const busyShare = 0.4

export class Network {
  readonly #options: NetworkOptions
  /** Requests open in all, and by each process. */
  #open = 0
  readonly #openBy = new Map<number, number>()
  /** What each process has sent that is not answered. */
  readonly #sentBy = new Map<number, Set<Tracked>>()

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** How a process sends. */
  transportOf(process: Process): Transport["Service"] {
    return Transport.make({
      send: (request, done) => {
        let isOpen = true
        this.#carry(process, request, (result) => {
          if (isOpen) done(result)
        })
        return () => {
          isOpen = false
        }
      }
    })
  }

  /** Carries a request to its receiver, and the answer back unless the process dies. */
  #carry(process: Process, request: TransportRequest, done: (result: TransportResult) => void): void {
    const { beginning, begun, ledger, targets, time } = this.#options
    const { body, deadline, headers, url } = request
    const target = targets.at(url)
    if (target === undefined || !process.alive) return
    const now = time.wall
    const number = Number(headers[Signature.headerNames.attempt] ?? 0)
    const id = headers[Signature.headerNames.id] ?? ""
    this.#noteBusy(target, now)
    const tracked = ledger.requested(target.integration.id, id, number, body, now)
    if (tracked !== null) this.#sent(process).add(tracked)
    this.#opened(target, process)
    const sinceStart = now - beginning
    const { processed, result } = target.receiver.receive({ now, sinceStart, deadline, local: target.clock.at(now) })
    if (processed && tracked !== null) ledger.processed(tracked, now)
    time.after(result.elapsed, () => {
      if (!process.alive) return
      this.#closed(target, process)
      const outcome = Acknowledgement.judge(result, deadline, "200")
      if (tracked !== null) this.#sent(process).delete(tracked)
      if (tracked !== null) ledger.responded(tracked, result, outcome, time.wall)
      done(result)
    })
    begun(process, result.elapsed)
  }

  #sent({ number }: Process): Set<Tracked> {
    const known = this.#sentBy.get(number) ?? new Set<Tracked>()
    this.#sentBy.set(number, known)
    return known
  }

  /** The process died: nobody waits for its answers. */
  cutOff(process: Process): void {
    this.#open -= this.#openBy.get(process.number) ?? 0
    this.#openBy.delete(process.number)
    for (const tracked of this.#sent(process)) this.#options.ledger.cutOff(tracked, this.#options.time.wall)
    this.#sentBy.delete(process.number)
    this.#options.targets.cutOff(process.number)
  }

  #opened(target: Target, { number }: Process): void {
    const { totals } = this.#options.measurements
    const byProcess = (this.#openBy.get(number) ?? 0) + 1
    const toOne = (target.openBy.get(number) ?? 0) + 1
    this.#openBy.set(number, byProcess)
    target.openBy.set(number, toOne)
    target.open++
    this.#open++
    totals.most_in_flight = Math.max(totals.most_in_flight, this.#open)
  }

  /** Before anything opens or closes: whether so much was open until now that a retry may have had to wait for a place. */
  #noteBusy(target: Target, now: number): void {
    const { ledger, settings, workers } = this.#options
    const share = Math.floor(settings.concurrencyPerIntegration / workers)
    const isFull = target.open >= placesFor(laneOf(builtInTypes.access_log, 1), share)
    if (isFull || this.#open >= busyShare * settings.concurrency) ledger.busy(now)
  }

  #closed(target: Target, { number }: Process): void {
    this.#noteBusy(target, this.#options.time.wall)
    this.#open--
    target.open--
    this.#openBy.set(number, (this.#openBy.get(number) ?? 0) - 1)
    target.openBy.set(number, (target.openBy.get(number) ?? 0) - 1)
  }
}
