require("node:http")
  .createServer((request, response) => request.resume().on("end", () => response.end()))
  .listen(process.env.PORT, "127.0.0.1")
