/**
 * Settings in memory.
 */
import { Effect, Layer } from "effect"
import { SettingStore } from "../ports/SettingStore.ts"

const make = Effect.sync(() => {
  const values = new Map<string, string>()
  return SettingStore.of({
    getOrCreate: (name, candidate) =>
      Effect.sync(() => {
        const value = values.get(name)
        if (value !== undefined) return { value, created: false }
        values.set(name, candidate)
        return { value: candidate, created: true }
      })
  })
})

export const layer: Layer.Layer<SettingStore> = Layer.effect(SettingStore, make)
