# A webhook receiver on Sinatra.
#
#   PORT=9000 WEBHOOK_SECRET=whsec_... APP_ENV=production ruby receiver.rb
require "json"
require "openssl"
require "sinatra"
require "sqlite3"

KEY = ENV.fetch("WEBHOOK_SECRET").delete_prefix("whsec_").unpack1("m0")
abort "WEBHOOK_SECRET is not set" if KEY.empty?

DB = SQLite3::Database.new(ENV.fetch("DATABASE", "receiver.db"))
DB.busy_timeout = 4000
# FULL: a commit returns when the rows are on disk.
DB.execute_batch(<<~SQL)
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS webhook_ids (id TEXT PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL);
SQL
ONE_AT_A_TIME = Mutex.new

set :bind, "127.0.0.1"
set :port, ENV.fetch("PORT", "9000")

def genuine?(id, timestamp, signatures, body)
  expected = "v1," + [OpenSSL::HMAC.digest("SHA256", KEY, "#{id}.#{timestamp}.".b + body)].pack("m0")
  return false unless signatures.split(" ").any? { |one| Rack::Utils.secure_compare(one, expected) }

  timestamp.match?(/\A\d+\z/) && (Time.now.to_i - timestamp.to_i).abs <= 300
end

def event?(body)
  body.valid_encoding? && (JSON.parse(body, symbolize_names: true, max_nesting: false) in { event: { data: Hash } })
rescue JSON::ParserError
  false
end

before { halt 405 unless request.post? }

post "/hook" do
  id, timestamp, signatures = %w[ID TIMESTAMP SIGNATURE].map do |name|
    request.get_header("HTTP_WEBHOOK_#{name}").to_s.dup.force_encoding("UTF-8") # a binary text would be kept as a BLOB
  end
  body = request.body.read
  halt 401 unless genuine?(id, timestamp, signatures, body)
  halt 400 unless event?(body.force_encoding("UTF-8"))
  # One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
  ONE_AT_A_TIME.synchronize do
    DB.transaction(:immediate) do
      DB.execute("INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING", [id])
      DB.execute("INSERT INTO events VALUES (?, ?)", [id, body]) if DB.changes == 1
    end
  end
  200
end
