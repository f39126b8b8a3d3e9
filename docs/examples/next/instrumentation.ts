/**
 * Starts doorhook with the server: deliveries that wait do not need a request to go on.
 */
export const register = async (): Promise<void> => {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return
  const { doorhook } = await import("./lib/doorhook.ts")
  await doorhook()
}
