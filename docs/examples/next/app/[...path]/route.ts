/**
 * Passes all paths without a file of their own in `app` to doorhook, which serves `/oauth/...`, `/v4/...` and so on,
 * and answers 404 for others.
 */
import { doorhook } from "../../lib/doorhook.ts"

const answer = async (request: Request): Promise<Response> => (await doorhook()).fetch(request)

// Without OPTIONS, Next.js would answer preflights itself and ignore `browserOrigins`.
export { answer as DELETE, answer as GET, answer as OPTIONS, answer as PATCH, answer as POST, answer as PUT }
