/**
 * `/v4/...` is doorhook's. The same file stands in `app/oauth/[...path]`, `app/operator/[...path]`, `app/health/[...path]` and
 * `app/.well-known/[...path]`.
 */
import { doorhook } from "../../../lib/doorhook.ts"

export const runtime = "nodejs"
export const dynamic = "force-dynamic"

export const GET = doorhook.fetch
export const POST = doorhook.fetch
export const PUT = doorhook.fetch
export const PATCH = doorhook.fetch
export const DELETE = doorhook.fetch
// Next.js would answer preflights itself, without `browserOrigins`.
export const OPTIONS = doorhook.fetch
