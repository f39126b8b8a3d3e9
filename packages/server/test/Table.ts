/**
 * The table of routes and the OpenAPI description, without a running server.
 */
import { builtInTable } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { PublicUrl } from "../src/http/PublicUrl.ts"
import type { Route } from "../src/http/Route.ts"
import { describeRoutes } from "../src/openapi/OpenApi.ts"
import { makeRoutes } from "../src/Server.ts"
import { StoreProbe } from "../src/health/HealthStatus.ts"
import { OperatorApi } from "../src/operator/OperatorApi.ts"
import { KeyGuard } from "../src/operator/OperatorKey.ts"
import { PortalLinks } from "../src/operator/PortalLinks.ts"
import { services } from "./TestServer.ts"

const needed = Layer.mergeAll(OperatorApi.layer, PortalLinks.layer, StoreProbe.layer, KeyGuard.layer).pipe(
  Layer.provideMerge(Layer.merge(services(), Layer.orDie(PublicUrl.layer("https://doors.example"))))
)

/** All routes. */
export const routes: ReadonlyArray<Route> = await Effect.runPromise(
  Effect.scoped(Effect.map(makeRoutes, (made) => made.routes)).pipe(Effect.provide(needed))
)

/** The OpenAPI description with the built-in resource types. */
export const description = await Effect.runPromise(describeRoutes(routes, builtInTable, "https://doors.example"))

/** A target for a route, with a value for each parameter. */
export const targetOf = ({ path }: Pick<Route, "path">, value = "1"): string =>
  path.replaceAll(/:\w+/g, value).replace(/\/\*$/, "/x")
