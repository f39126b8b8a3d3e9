/**
 * The backend itself.
 */
import { Controller, Get, Inject, Module, Post } from "@nestjs/common"
import type { Doorhook, PublishResult } from "doorhook"
import { DOORHOOK, DoorhookModule } from "./doorhook.module.js"

@Controller()
class BuildingController {
  constructor(@Inject(DOORHOOK) private readonly doorhook: Doorhook) {}

  @Get()
  name(): string {
    return "North Tower"
  }

  /** Publishes a ring. */
  @Post("rings")
  ring(): Promise<PublishResult> {
    return this.doorhook.publish({
      resource_type: "call",
      action: "create",
      building_id: 1,
      data: { id: Date.now() }
    })
  }
}

@Module({ imports: [DoorhookModule], controllers: [BuildingController] })
export class AppModule {}
