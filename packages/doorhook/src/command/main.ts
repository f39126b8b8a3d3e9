/**
 * The program `doorhook`.
 *
 * The published module is a single file with all of its imports, including Effect. This halves the start-up time.
 * Separately installed packages need the copy of Effect that npm installs, so `extended.ts` is the same program with
 * that copy.
 */
import { makeDoorhook } from "./doorhook.ts"
import { mayNeedExtensions, placeholders } from "./extensions.ts"
import { runMain } from "./Process.ts"

const given = process.argv.slice(2)

if (mayNeedExtensions(given)) {
  const { runExtended } = await import("./extended.ts")
  await runExtended(given)
} else runMain(makeDoorhook(placeholders), given)
