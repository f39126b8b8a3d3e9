/**
 * The most frequent token changes. Each database has its own optimized implementation.
 */
import type { TokenStore } from "@doorhook/core"
import { Context } from "effect"

export class TokenWrites extends Context.Service<
  TokenWrites,
  Pick<TokenStore["Service"], "redeemCode" | "refresh" | "retireRefreshToken">
>()("@doorhook/sql/TokenWrites") {}
