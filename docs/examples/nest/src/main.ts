/**
 * A backend on NestJS that offers webhooks to third parties.
 */
import "reflect-metadata"
import { NestFactory } from "@nestjs/core"
import type { Doorhook } from "doorhook"
import { AppModule } from "./app.module.js"
import { DOORHOOK } from "./doorhook.module.js"

const app = await NestFactory.create(AppModule)
// Mounted before `listen`, which adds Nest's body parsers, because doorhook reads bodies itself.
app.use(app.get<Doorhook>(DOORHOOK).node)
app.enableShutdownHooks()
await app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1")
process.stdout.write(`listening on ${await app.getUrl()}\n`)
