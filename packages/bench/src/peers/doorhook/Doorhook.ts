/**
 * doorhook as a contender: the embedded engine on SQLite and on PostgreSQL.
 */
import { DeliveryStore, Publisher } from "@doorhook/core"
import type { IntegrationStore, Transport } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { ManagedRuntime } from "effect"
import type { Layer } from "effect"
import { createIntegrations, postgresEngine, settings, sqliteEngine } from "../../harness/Engine.ts"
import { watch } from "../../harness/RequestWatch.ts"
import { eventOf } from "../../harness/Workload.ts"
import type { Contender, Place, Session } from "../Contender.ts"

type Engine<E> = Layer.Layer<Publisher | DeliveryStore | IntegrationStore, E>

const open =
  <E>(engineOf: (storage: string, given: typeof settings, transport: Layer.Layer<Transport>) => Engine<E>) =>
  async ({ onAnswer, port, storage }: Place): Promise<Session> => {
    const transport = onAnswer === null ? UndiciTransport.layer() : watch(() => true, onAnswer).transport
    const runtime = ManagedRuntime.make(engineOf(storage, settings, transport))
    await runtime.runPromise(createIntegrations(port))
    const publisher = await runtime.runPromise(Publisher)
    const store = await runtime.runPromise(DeliveryStore)
    return {
      publish: async (numbers) => {
        await runtime.runPromise(publisher.publish(numbers.map(eventOf)))
      },
      settled: async () => (await runtime.runPromise(store.summary(0))).states.delivered,
      close: () => runtime.dispose()
    }
  }

const sizes = { batch: 100, publishers: 4 }

export const onSqlite: Contender = {
  ...sizes,
  title: "doorhook, SQLite, each commit synced",
  storage: "sqlite",
  open: open(sqliteEngine)
}

export const onPostgres: Contender = {
  ...sizes,
  title: "doorhook, PostgreSQL",
  storage: "postgres",
  open: open(postgresEngine)
}
