/**
 * The cryptography of Node.js keeps the contract.
 */
import { CryptoSuite, provideEach } from "@doorhook/core/testing"
import { NodeCrypto } from "@doorhook/node"
import { it } from "@effect/vitest"

for (const { name, run } of provideEach(CryptoSuite.cases, NodeCrypto.layer)) it.effect(name, () => run)
