/**
 * Files of the first version store one rotated secret per integration. That secret still signs after the migration.
 */
import type { IntegrationId } from "@doorhook/core"
import { IntegrationStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { DatabaseSync } from "node:sqlite"
import * as Migrations from "../src/sqlite/migrations/index.ts"
import { asFifthVersion } from "./FifthVersion.ts"
import { onStore, tamper } from "./OpenedStore.ts"
import { temporaryFile } from "./TemporaryFile.ts"

/** Reverts the later migrations, which leaves the tables of the first version. */
const asFirstVersion = `${asFifthVersion}
  ALTER TABLE integrations DROP COLUMN previous_secrets;
  ALTER TABLE integrations ADD COLUMN previous_secret TEXT;
  ALTER TABLE integrations ADD COLUMN previous_secret_until INTEGER;
  DROP INDEX grants_by_user; DROP INDEX refresh_tokens_by_rotation;
  DROP INDEX grants_by_revocation; DROP INDEX access_tokens_by_age;
  CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id);
  DELETE FROM ${Migrations.table} WHERE migration_id > 1`

const secretsOf = (id: IntegrationId) =>
  Effect.map(
    IntegrationStore.use((store) => store.find(id)),
    (found) => found?.previous_secrets.map(({ secret, until }) => [Redacted.value(secret), until])
  )

describe("a file of the first version", () => {
  for (const encryptionKey of [undefined, Redacted.make("the key")]) {
    it.effect(`keeps its rotated secrets, ${encryptionKey === undefined ? "readable" : "sealed"}`, () =>
      Effect.gen(function* () {
        const config = { filename: yield* temporaryFile, encryptionKey }
        const previous_secrets = [{ secret: Redacted.make("whsec_b2xk"), until: 123 }]
        const [rotated, untouched] = yield* onStore(
          config,
          Effect.all([StoreFixtures.createIntegration({ previous_secrets }), StoreFixtures.createIntegration()])
        )
        const db = new DatabaseSync(config.filename)
        const [row] = db.prepare("SELECT previous_secrets ->> '$[0].secret' AS sealed FROM integrations").all()
        db.close()
        yield* tamper(
          config.filename,
          `${asFirstVersion};
          UPDATE integrations SET previous_secret = '${String(row?.["sealed"])}', previous_secret_until = 123
            WHERE id = ${rotated.id}`
        )
        const after = yield* onStore(config, Effect.all([secretsOf(rotated.id), secretsOf(untouched.id)]))
        assert.deepStrictEqual(after, [[["whsec_b2xk", 123]], []])
      })
    )
  }
})
