// doorhook must not be bundled.
export default { serverExternalPackages: ["doorhook"] }
