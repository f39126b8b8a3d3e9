# A receiver of doorhook's webhooks in Ruby: the standard library and WEBrick (a gem since Ruby 3.0).
#
#   PORT=9000 JOURNAL=receiver.jsonl WEBHOOK_SECRET=whsec_... ruby receiver.rb
#
# WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
#
# Ruby brings no database. Events go to a journal, one line each, synced before the answer. With a database, take a
# unique constraint on the webhook-id and one transaction instead, as the other examples do.
require "base64"
# Not "digest" alone: that loads SHA256 when it is first asked for, and two threads that ask at once can fail.
require "digest/sha2"
require "json"
require "openssl"
require "webrick"

LONGEST_BODY = 1024 * 1024

# What is known and what was done. A line is both: an event is known once its effect is written.
class Journal
  def initialize(path)
    @mutex = Mutex.new
    @done = Hash.new { |done, id| done[id] = [] }
    @file = File.open(path, File::RDWR | File::CREAT, 0o600)
    size = 0
    @file.each_line do |line|
      # A line without an end was being written when the process died. It was never acknowledged.
      break unless line.end_with?("\n")

      entry = JSON.parse(line)
      @done[entry["webhook_id"]] << entry
      size += line.bytesize
    end
    @file.truncate(size)
    @file.seek(size)
  end

  # Does what an event asks for unless it was done. Returns when that is on disk.
  def handle_once(id, event)
    @mutex.synchronize do
      next if @done.key?(id)

      entry = { "webhook_id" => id, "resource_type" => event["resource_type"], "data" => event["data"] }
      start = @file.pos
      begin
        @file.write("#{JSON.generate(entry)}\n")
        @file.fsync
      rescue SystemCallError
        @file.truncate(start)
        @file.seek(start)
        raise
      end
      @done[id] << entry
    end
  end

  # What was done about an event, entry by entry.
  def entries(id)
    @mutex.synchronize { @done.key?(id) ? @done[id].dup : [] }
  end
end

# Checks a Standard Webhooks signature: HMAC-SHA-256 of id.timestamp.body, over the bytes that arrived.
class Verifier
  def initialize(secret)
    @key = secret.empty? ? nil : Base64.strict_decode64(secret.delete_prefix("whsec_"))
  end

  def genuine?(request, body)
    return true if @key.nil?

    timestamp = request["webhook-timestamp"].to_s
    return false unless timestamp.match?(/\A\d{1,12}\z/) && (Time.now.to_i - timestamp.to_i).abs <= 300

    mac = OpenSSL::HMAC.digest("SHA256", @key, "#{request["webhook-id"]}.#{timestamp}.".b + body)
    expected = "v1,#{Base64.strict_encode64(mac)}"
    # Several signatures come while a secret is rotated.
    request["webhook-signature"].to_s.split.any? { |one| OpenSSL.secure_compare(one, expected) }
  end
end

# The event in a body; nil when there is none. Members and types that are not known are fine.
def read_event(body)
  text = body.dup.force_encoding(Encoding::UTF_8)
  return nil unless text.valid_encoding?

  parsed = JSON.parse(text)
  event = parsed.is_a?(Hash) ? parsed["event"] : nil
  event if event.is_a?(Hash) && event["resource_type"].is_a?(String) && event["data"].is_a?(Hash)
rescue JSON::ParserError
  nil
end

# A number as RFC 8785 wants it: as ECMAScript writes the double.
def canonical_number(value)
  number = value.to_f
  return "0" if number.zero?

  # Ruby has the shortest digits that read back as the same double; only their placing differs.
  digits, power = number.abs.to_s.split("e")
  whole, fraction = digits.split(".")
  fraction = "" if fraction == "0"
  digits = (whole + fraction).sub(/\A0+/, "")
  point = whole.size + power.to_i - (whole + fraction).size + digits.size
  digits = digits.sub(/0+\z/, "")
  text =
    if digits.size <= point && point <= 21 then digits.ljust(point, "0")
    elsif point.positive? && point <= 21 then "#{digits[...point]}.#{digits[point..]}"
    elsif point > -6 && point <= 0 then "0.#{"0" * -point}#{digits}"
    else "#{digits[0]}#{".#{digits[1..]}" if digits.size > 1}#{format("e%+d", point - 1)}"
    end
  number.positive? ? text : "-#{text}"
end

# RFC 8785: members sorted by UTF-16 code units, no space, numbers and strings as ECMAScript writes them.
def canonical(value)
  case value
  when Numeric then canonical_number(value)
  when Array then "[#{value.map { |one| canonical(one) }.join(",")}]"
  when Hash
    names = value.keys.sort_by { |name| name.encode("UTF-16BE").b }
    "{#{names.map { |name| "#{canonical(name)}:#{canonical(value[name])}" }.join(",")}}"
  else JSON.generate(value)
  end
end

class Hook < WEBrick::HTTPServlet::AbstractServlet
  def initialize(server, journal, verifier)
    super(server)
    @journal = journal
    @verifier = verifier
  end

  def service(request, response)
    response.status = receive(request)
  rescue SystemCallError => e
    # The event is not kept, so it is not acknowledged: it will come again. Tell somebody.
    warn "delivery failed: #{e.message}"
    response.status = 500
  end

  private

  def receive(request)
    return 405 unless request.request_method == "POST"

    body = request.body.to_s.b
    return 413 if body.bytesize > LONGEST_BODY
    return 401 unless @verifier.genuine?(request, body)

    id = request["webhook-id"].to_s
    event = read_event(body)
    return 400 if id.empty? || event.nil?

    @journal.handle_once(id, event)
    200
  end
end

class Probe < WEBrick::HTTPServlet::AbstractServlet
  def initialize(server, journal)
    super(server)
    @journal = journal
  end

  def do_GET(request, response)
    response["content-type"] = "application/json"
    entries = @journal.entries(request.query["id"].to_s)
    seen = { effects: entries.size }
    seen[:digest] = "sha256:#{Digest::SHA256.hexdigest(canonical(entries.first["data"]))}" unless entries.empty?
    response.body = JSON.generate(seen)
  end
end

journal = Journal.new(ENV.fetch("JOURNAL", "receiver.jsonl"))
server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1",
  Port: Integer(ENV.fetch("PORT", "9000")),
  MaxClients: 200,
  RequestTimeout: 60,
  AccessLog: [],
  Logger: WEBrick::Log.new($stderr, WEBrick::BasicLog::ERROR)
)
server.mount("/hook", Hook, journal, Verifier.new(ENV.fetch("WEBHOOK_SECRET", "")))
server.mount("/probe", Probe, journal) if ENV["WITH_PROBE"] == "1"
trap("INT") { server.shutdown }
trap("TERM") { server.shutdown }
server.start
