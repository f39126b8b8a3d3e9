// A receiver of doorhook's webhooks in Java 17: the JDK and nothing else.
//
//   PORT=9000 JOURNAL=receiver.jsonl WEBHOOK_SECRET=whsec_... java Receiver.java
//
// WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
//
// The JDK brings no database and no JSON. Events go to a journal, one line each, synced before the answer; a small
// reader finds the event. With a database, take a unique constraint on the webhook-id and one transaction instead, as
// the other examples do; with Jackson or Gson, theirs in place of the reader.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.math.BigDecimal;
import java.math.MathContext;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class Receiver {
  static final int LONGEST_BODY = 1 << 20;

  /** What is known and what was done. A line is both: an event is known once its effect is written. */
  static final class Journal {
    private final Map<String, Integer> done = new HashMap<>();
    /** The body that each event was first done with. */
    private final Map<String, String> bodies = new HashMap<>();
    private final RandomAccessFile file;
    private long size = 0;

    Journal(String path) throws IOException {
      file = new RandomAccessFile(path, "rw");
      var line = new ByteArrayOutputStream();
      var bytes = new byte[(int) file.length()];
      file.readFully(bytes);
      for (byte next : bytes) {
        if (next != '\n') {
          line.write(next);
          continue;
        }
        // The id stands before the first space.
        var text = line.toString(StandardCharsets.UTF_8);
        var id = decoded(text.substring(0, text.indexOf(' ')));
        done.merge(id, 1, Integer::sum);
        bodies.putIfAbsent(id, text.substring(text.indexOf(' ') + 1));
        size += line.size() + 1;
        line.reset();
      }
      // A line without an end was being written when the process died. It was never acknowledged.
      file.setLength(size);
    }

    private static String encoded(String text) {
      return Base64.getUrlEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String decoded(String text) {
      return new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8);
    }

    /** Does what an event asks for unless it was done. Returns when that is on disk. */
    synchronized void handleOnce(String id, String body) throws IOException {
      if (done.containsKey(id)) return;
      // A line of its own: newlines in JSON stand between tokens only.
      var line = (encoded(id) + " " + body.replace('\n', ' ').replace('\r', ' ') + "\n").getBytes(StandardCharsets.UTF_8);
      file.seek(size);
      file.write(line);
      file.getFD().sync();
      size += line.length;
      done.put(id, 1);
      bodies.put(id, body);
    }

    synchronized int effects(String id) {
      return done.getOrDefault(id, 0);
    }

    synchronized String body(String id) {
      return bodies.get(id);
    }
  }

  /** Reads JSON by RFC 8259: objects as maps, arrays as lists, numbers as doubles, and null as a value of its own. */
  static final class Json {
    private static final int DEEPEST = 200;
    private static final Object NULL = new Object();
    private final String text;
    private int at = 0;

    private Json(String text) {
      this.text = text;
    }

    static Object read(String text) {
      var json = new Json(text);
      var value = json.value(0);
      json.space();
      if (json.at != text.length()) throw json.wrong();
      return value;
    }

    private IllegalArgumentException wrong() {
      return new IllegalArgumentException("not JSON at character " + at);
    }

    private void space() {
      while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
    }

    private boolean take(String token) {
      space();
      if (!text.startsWith(token, at)) return false;
      at += token.length();
      return true;
    }

    private void need(String token) {
      if (!take(token)) throw wrong();
    }

    private Object value(int depth) {
      if (depth > DEEPEST) throw wrong();
      if (take("{")) {
        var members = new LinkedHashMap<String, Object>();
        if (take("}")) return members;
        do {
          space();
          var name = string();
          need(":");
          members.put(name, value(depth + 1));
        } while (take(","));
        need("}");
        return members;
      }
      if (take("[")) {
        var values = new ArrayList<Object>();
        if (take("]")) return values;
        do values.add(value(depth + 1)); while (take(","));
        need("]");
        return values;
      }
      if (take("true")) return Boolean.TRUE;
      if (take("false")) return Boolean.FALSE;
      if (take("null")) return NULL;
      if (at < text.length() && text.charAt(at) == '"') return string();
      var number = java.util.regex.Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?").matcher(text);
      if (!number.find(at) || number.start() != at) throw wrong();
      at = number.end();
      return Double.valueOf(number.group());
    }

    /** RFC 8785: members sorted by UTF-16 code units, no space, numbers and strings as ECMAScript writes them. */
    static String canonical(Object value) {
      if (value instanceof Map<?, ?> members) {
        var sorted = new TreeMap<String, String>();
        members.forEach((name, one) -> sorted.put((String) name, canonical(name) + ":" + canonical(one)));
        return "{" + String.join(",", sorted.values()) + "}";
      }
      if (value instanceof List<?> values) {
        return "[" + values.stream().map(Json::canonical).collect(Collectors.joining(",")) + "]";
      }
      if (value instanceof Double number) return canonicalNumber(number);
      if (value instanceof String text) return quoted(text);
      return value == NULL ? "null" : value.toString();
    }

    private static String canonicalNumber(double number) {
      if (number == 0) return "0";
      // The fewest digits that read back as the same double: Double.toString may give more before Java 19.
      var exact = new BigDecimal(Math.abs(number));
      int precision = 1;
      while (exact.round(new MathContext(precision)).doubleValue() != Math.abs(number)) precision++;
      var decimal = exact.round(new MathContext(precision)).stripTrailingZeros();
      var digits = decimal.unscaledValue().toString();
      int point = digits.length() - decimal.scale();
      String text;
      if (digits.length() <= point && point <= 21) text = digits + "0".repeat(point - digits.length());
      else if (0 < point && point <= 21) text = digits.substring(0, point) + "." + digits.substring(point);
      else if (-6 < point && point <= 0) text = "0." + "0".repeat(-point) + digits;
      else {
        var rest = digits.length() > 1 ? "." + digits.substring(1) : "";
        text = digits.charAt(0) + rest + "e" + (point > 1 ? "+" : "-") + Math.abs(point - 1);
      }
      return number > 0 ? text : "-" + text;
    }

    private static String quoted(String text) {
      var written = new StringBuilder("\"");
      for (char next : text.toCharArray()) {
        int place = "\"\\\b\f\n\r\t".indexOf(next);
        if (place >= 0) written.append('\\').append("\"\\bfnrt".charAt(place));
        else if (next < 0x20) written.append(String.format("\\u%04x", (int) next));
        else written.append(next);
      }
      return written.append('"').toString();
    }

    private String string() {
      if (at >= text.length() || text.charAt(at) != '"') throw wrong();
      at++;
      var read = new StringBuilder();
      while (at < text.length()) {
        char next = text.charAt(at++);
        if (next == '"') return read.toString();
        if (next < 0x20) throw wrong();
        if (next != '\\') {
          read.append(next);
          continue;
        }
        if (at >= text.length()) throw wrong();
        char escape = text.charAt(at++);
        int place = "\"\\/bfnrt".indexOf(escape);
        if (place >= 0) read.append("\"\\/\b\f\n\r\t".charAt(place));
        else if (escape == 'u' && at + 4 <= text.length() && text.substring(at, at + 4).matches("[0-9a-fA-F]{4}")) {
          read.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
          at += 4;
        } else throw wrong();
      }
      throw wrong();
    }
  }

  /** Whether a body holds an event. Members and types that are not known are fine. */
  static boolean isEvent(String body) {
    try {
      return Json.read(body) instanceof Map<?, ?> message
          && message.get("event") instanceof Map<?, ?> event
          && event.get("resource_type") instanceof String
          && event.get("data") instanceof Map<?, ?>;
    } catch (IllegalArgumentException notJson) {
      return false;
    }
  }

  /** The sender hung up in the middle of the request: nothing was kept, and nobody waits for an answer. */
  static final class SenderGone extends IOException {
    private static final long serialVersionUID = 1;
  }

  private final byte[] key;
  private final Journal journal;

  Receiver(String secret, Journal journal) {
    this.key = secret.isEmpty() ? null : Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
    this.journal = journal;
  }

  /** Checks a Standard Webhooks signature: HMAC-SHA-256 of id.timestamp.body, over the bytes that arrived. */
  boolean isGenuine(HttpExchange exchange, byte[] body) throws GeneralSecurityException {
    if (key == null) return true;
    var timestamp = header(exchange, "webhook-timestamp");
    if (!timestamp.matches("[0-9]{1,12}")) return false;
    if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) return false;
    var mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    mac.update((header(exchange, "webhook-id") + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
    var expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
    // Several signatures come while a secret is rotated.
    for (var signature : header(exchange, "webhook-signature").split(" ")) {
      if (MessageDigest.isEqual(signature.getBytes(StandardCharsets.UTF_8), expected)) return true;
    }
    return false;
  }

  private static String header(HttpExchange exchange, String name) {
    var value = exchange.getRequestHeaders().getFirst(name);
    return value == null ? "" : value;
  }

  private int receive(HttpExchange exchange) throws IOException, GeneralSecurityException {
    if (!exchange.getRequestMethod().equals("POST")) return 405;
    byte[] bytes;
    try {
      bytes = exchange.getRequestBody().readNBytes(LONGEST_BODY + 1);
    } catch (IOException gone) {
      throw new SenderGone();
    }
    if (bytes.length > LONGEST_BODY) return 413;
    if (!isGenuine(exchange, bytes)) return 401;
    var id = header(exchange, "webhook-id");
    String body;
    try {
      body = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException notText) {
      return 400;
    }
    if (id.isEmpty() || !isEvent(body)) return 400;
    journal.handleOnce(id, body);
    return 200;
  }

  void answer(HttpExchange exchange) throws IOException {
    int status;
    try {
      status = receive(exchange);
    } catch (SenderGone gone) {
      exchange.close();
      return;
    } catch (IOException | GeneralSecurityException error) {
      // The event is not kept, so it is not acknowledged: it will come again. Tell somebody.
      System.err.println("delivery failed: " + error);
      status = 500;
    }
    exchange.sendResponseHeaders(status, -1);
    exchange.close();
  }

  /** What the conformance suite asks: how often an event was acted on, and what was stored. */
  private String seen(String id) {
    var effects = journal.effects(id);
    if (effects == 0) return "{\"effects\":0}";
    var event = (Map<?, ?>) ((Map<?, ?>) Json.read(journal.body(id))).get("event");
    var data = Json.canonical(event.get("data")).getBytes(StandardCharsets.UTF_8);
    try {
      var hash = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
      return "{\"effects\":" + effects + ",\"digest\":\"sha256:" + hash + "\"}";
    } catch (GeneralSecurityException missing) {
      throw new IllegalStateException(missing);
    }
  }

  void probe(HttpExchange exchange) throws IOException {
    var query = exchange.getRequestURI().getRawQuery();
    var id = "";
    for (var part : (query == null ? "" : query).split("&")) {
      if (part.startsWith("id=")) id = URLDecoder.decode(part.substring(3), StandardCharsets.UTF_8);
    }
    var body = seen(id).getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("content-type", "application/json");
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  static String setting(String name, String otherwise) {
    var value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  public static void main(String[] args) throws IOException {
    var receiver = new Receiver(setting("WEBHOOK_SECRET", ""), new Journal(setting("JOURNAL", "receiver.jsonl")));
    var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(setting("PORT", "9000")));
    var server = HttpServer.create(address, 128);
    server.createContext("/hook", receiver::answer);
    if (setting("WITH_PROBE", "").equals("1")) server.createContext("/probe", receiver::probe);
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
  }
}
