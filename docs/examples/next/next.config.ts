// Not bundled: doorhook runs from `node_modules`, as it is installed.
export default { serverExternalPackages: ["doorhook"] }
