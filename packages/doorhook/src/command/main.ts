/**
 * The program `doorhook`.
 *
 * The published module is a single file with all of its imports, Effect included, which halves the start-up time.
 * Separately installed packages use the Effect that npm installs; `extended.ts` is the same program on that Effect.
 */
import { makeDoorhook } from "./doorhook.ts"
import { mayNeedExtensions, placeholders } from "./extensions.ts"
import { runMain } from "./runMain.ts"

const given = process.argv.slice(2)

if (mayNeedExtensions(given)) {
  const { runExtended } = await import("./extended.ts")
  await runExtended(given)
} else runMain(makeDoorhook(placeholders), given)
