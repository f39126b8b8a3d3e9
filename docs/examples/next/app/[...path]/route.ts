/**
 * All paths that no other file of `app` answers are doorhook's: `/oauth/...`, `/v4/...` and so on. It answers 404 for those that
 * are not its own.
 */
import { doorhook } from "../../lib/doorhook.ts"

const answer = async (request: Request): Promise<Response> => (await doorhook()).fetch(request)

// Without OPTIONS, Next.js would answer preflights itself, without `browserOrigins`.
export { answer as DELETE, answer as GET, answer as OPTIONS, answer as PATCH, answer as POST, answer as PUT }
