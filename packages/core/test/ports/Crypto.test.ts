/**
 * WebCrypto satisfies the contract.
 */
import { Crypto } from "@doorhook/core"
import { CryptoSuite, provideEach } from "@doorhook/core/testing"
import { it } from "@effect/vitest"

for (const { name, run } of provideEach(CryptoSuite.cases, Crypto.layerWebCrypto)) it.effect(name, () => run)
