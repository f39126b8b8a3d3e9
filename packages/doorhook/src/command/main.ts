/**
 * The program `doorhook`.
 */
import { doorhook } from "./doorhook.ts"
import { runMain } from "./runMain.ts"

runMain(doorhook, { stoppable: ["serve", "worker"].includes(process.argv[2] ?? "") })
