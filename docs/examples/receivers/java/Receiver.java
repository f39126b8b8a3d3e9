// A webhook receiver in Java 17, with Jackson and SQLite's JDBC driver in lib/.
//
//   PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... java -cp "lib/*" Receiver.java
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.*;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.sql.*;
import java.util.*;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
  static final SecretKeySpec KEY = new SecretKeySpec(
      Base64.getDecoder().decode(System.getenv("WEBHOOK_SECRET").replaceFirst("^whsec_", "")), "HmacSHA256");
  // FULL: a commit returns when the rows are on disk.
  static final String URL = "jdbc:sqlite:" + System.getenv().getOrDefault("DATABASE", "receiver.db")
      + "?journal_mode=WAL&synchronous=FULL&busy_timeout=4000&transaction_mode=IMMEDIATE";

  public static void main(String[] args) throws Exception {
    try (var db = DriverManager.getConnection(URL); var statement = db.createStatement()) {
      statement.execute("CREATE TABLE IF NOT EXISTS webhook_ids (id TEXT PRIMARY KEY)");
      statement.execute("CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)");
    }
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 128);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/hook", exchange -> {
      try (exchange) {
        exchange.sendResponseHeaders(receive(exchange), -1);
      }
    });
    server.start();
  }

  static int receive(HttpExchange exchange) {
    try {
      if (!exchange.getRequestMethod().equals("POST")) return 405;
      var body = exchange.getRequestBody().readNBytes(1 << 20);
      if (!isGenuine(exchange.getRequestHeaders(), body)) return 401;
      if (!new ObjectMapper().readTree(body).path("event").path("data").isObject()) return 400;
      keepOnce(exchange.getRequestHeaders().getFirst("webhook-id"), new String(body, UTF_8));
      return 200;
    } catch (JsonProcessingException error) {
      return 400;
    } catch (Exception error) {
      error.printStackTrace(); // not kept, so it comes again
      return 500;
    }
  }

  static boolean isGenuine(Headers headers, byte[] body) throws Exception {
    var timestamp = Objects.requireNonNullElse(headers.getFirst("webhook-timestamp"), "");
    var mac = Mac.getInstance("HmacSHA256");
    mac.init(KEY);
    mac.update((headers.getFirst("webhook-id") + "." + timestamp + ".").getBytes(UTF_8));
    var expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8);
    var given = Objects.requireNonNullElse(headers.getFirst("webhook-signature"), "").split(" ");
    return Arrays.stream(given).anyMatch(one -> MessageDigest.isEqual(one.getBytes(UTF_8), expected))
        && timestamp.matches("\\d{1,12}")
        && Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(timestamp)) <= 300;
  }

  // One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
  static void keepOnce(String id, String body) throws SQLException {
    try (var db = DriverManager.getConnection(URL);
        var mark = db.prepareStatement("INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING");
        var keep = db.prepareStatement("INSERT INTO events VALUES (?, ?)")) {
      db.setAutoCommit(false);
      mark.setString(1, id);
      keep.setString(1, id);
      keep.setString(2, body);
      if (mark.executeUpdate() == 1) keep.executeUpdate();
      db.commit();
    }
  }
}
