/**
 * A route of the backend itself, which publishes a ring.
 */
import { doorhook } from "../../lib/doorhook.ts"

export const POST = async (): Promise<Response> => {
  const { publish } = await doorhook()
  const published = await publish({ resource_type: "call", action: "create", building_id: 1, data: { id: Date.now() } })
  return Response.json(published, { status: 201 })
}
