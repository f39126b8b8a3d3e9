/**
 * The program `doorhook`.
 */
import { doorhook } from "./doorhook.ts"
import { runMain } from "./runMain.ts"

runMain(doorhook)
