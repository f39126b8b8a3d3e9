/**
 * Token changes that requests wait for. Each database implements them with little overhead.
 */
import type { TokenStore } from "@doorhook/core"
import { Context } from "effect"

export class TokenWrites extends Context.Service<
  TokenWrites,
  Pick<TokenStore["Service"], "redeemCode" | "refresh" | "retireRefreshToken">
>()("@doorhook/sql/TokenWrites") {}
