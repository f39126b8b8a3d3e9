/**
 * The program `doorhook`.
 *
 * As it is published, this module and all that it imports are one file, Effect included: a service starts in half the time.
 * The packages that are installed separately share the Effect that npm installs; `extended.ts` is the same program on that.
 */
import { makeDoorhook } from "./doorhook.ts"
import { mayNeedExtensions, placeholders } from "./extensions.ts"
import { runMain } from "./runMain.ts"

const given = process.argv.slice(2)

if (mayNeedExtensions(given)) {
  const { runExtended } = await import("./extended.ts")
  await runExtended(given)
} else runMain(makeDoorhook(placeholders), given)
