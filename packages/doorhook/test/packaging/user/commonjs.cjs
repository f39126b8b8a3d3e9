const { createDoorhook } = require("doorhook")
if (typeof require("@doorhook/receiver").createReceiver !== "function") throw new Error("no receiver")
createDoorhook({
  database: "memory",
  directory: { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false }
}).then((doorhook) => doorhook.close())
