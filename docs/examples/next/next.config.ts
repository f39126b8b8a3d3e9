// Keeps doorhook out of the bundle.
export default { serverExternalPackages: ["doorhook"] }
