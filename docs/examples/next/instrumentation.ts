/**
 * Starts doorhook with the server, so waiting deliveries continue without a request.
 */
export const register = async (): Promise<void> => {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return
  const { doorhook } = await import("./lib/doorhook.ts")
  await doorhook()
}
