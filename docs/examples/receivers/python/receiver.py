"""A receiver of doorhook's webhooks in Python: the standard library and nothing else.

    PORT=9000 DATABASE=receiver.db WEBHOOK_SECRET=whsec_... python3 receiver.py

WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

DATABASE = os.environ.get("DATABASE", "receiver.db")
PORT = int(os.environ.get("PORT", "9000"))
SECRET = os.environ.get("WEBHOOK_SECRET", "")
WITH_PROBE = os.environ.get("WITH_PROBE") == "1"
KEY = base64.b64decode(SECRET.removeprefix("whsec_")) if SECRET else None
LONGEST_BODY = 1024 * 1024


class Ledger:
    """What is known and what was done. One connection and one lock: SQLite has one writer anyway."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # synchronous = FULL: what was acknowledged survives a power cut.
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("CREATE TABLE IF NOT EXISTS deliveries (webhook_id TEXT PRIMARY KEY)")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS door_log (webhook_id TEXT NOT NULL, resource_type TEXT NOT NULL, data TEXT NOT NULL)"
        )

    def handle_once(self, webhook_id, resource_type, data):
        """The mark and what is done about the event are one transaction: both are there, or neither."""
        with self.lock:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                mark = self.db.execute("INSERT INTO deliveries VALUES (?) ON CONFLICT DO NOTHING", (webhook_id,))
                # A known id is a duplicate: nothing is done, and it is acknowledged all the same.
                if mark.rowcount == 1:
                    self.db.execute("INSERT INTO door_log VALUES (?, ?, ?)", (webhook_id, resource_type, data))
                self.db.execute("COMMIT")
            except BaseException:
                self.db.execute("ROLLBACK")
                raise

    def effects(self, webhook_id):
        with self.lock:
            return self.db.execute(
                "SELECT count(*), min(data) FROM door_log WHERE webhook_id = ?", (webhook_id,)
            ).fetchone()


def is_genuine(headers, body):
    """Standard Webhooks: HMAC-SHA-256 of `id.timestamp.body`, over the bytes that arrived."""
    if KEY is None:
        return True
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return False
    mac = hmac.new(KEY, f"{webhook_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(mac).decode()
    # Several signatures come while a secret is rotated.
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(one.encode(), expected.encode()) for one in given)


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


def read_event(body):
    """The event in a body; None when there is none. Members and types that are not known are fine."""
    try:
        parsed = json.loads(body.decode("utf-8"), parse_constant=no_constant)
    except (ValueError, RecursionError):
        return None
    event = parsed.get("event") if isinstance(parsed, dict) else None
    if not isinstance(event, dict):
        return None
    if not isinstance(event.get("resource_type"), str) or not isinstance(event.get("data"), dict):
        return None
    return event["resource_type"], event["data"]


def canonical_number(value):
    """A number as RFC 8785 wants it: as ECMAScript writes the double."""
    number = float(value)
    if number == 0:
        return "0"
    # repr has the shortest digits that read back as the same double; only their placing differs.
    digits, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(power or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        exponent = point - 1
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        text += f"e{'+' if exponent > 0 else '-'}{abs(exponent)}"
    return text if number > 0 else "-" + text


def canonical(value):
    """RFC 8785: members sorted by UTF-16 code units, no space, numbers and strings as ECMAScript writes them."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return canonical_number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


LEDGER = Ledger(DATABASE)


class Receiver(BaseHTTPRequestHandler):
    # HTTP/1.1: connections are kept, and `Expect: 100-continue` is answered.
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if urlsplit(self.path).path != "/hook":
            return self.answer(404)
        body = self.read_body()
        if body is None:
            self.close_connection = True
            return self.answer(413)
        if not is_genuine(self.headers, body):
            return self.answer(401)
        webhook_id = self.headers.get("webhook-id")
        event = read_event(body)
        if not webhook_id or event is None:
            return self.answer(400)
        resource_type, data = event
        try:
            LEDGER.handle_once(webhook_id, resource_type, json.dumps(data))
        except sqlite3.Error as error:
            # The event is not kept, so it is not acknowledged: it will come again. Tell somebody.
            print(f"delivery {webhook_id} failed: {error}", file=sys.stderr)
            return self.answer(500)
        return self.answer(200)

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/hook":
            return self.answer(405)
        if url.path != "/probe" or not WITH_PROBE:
            return self.answer(404)
        effects, data = LEDGER.effects(parse_qs(url.query).get("id", [""])[0])
        seen = {"effects": effects}
        if data is not None:
            text = canonical(json.loads(data))
            seen["digest"] = "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self.answer(200, json.dumps(seen).encode())

    def do_HEAD(self):
        self.answer(405)

    do_OPTIONS = do_HEAD

    def read_body(self):
        """The body, whichever way its end is told; None when it is too long."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            length = int(self.headers.get("content-length", "0"))
            return self.read_exactly(length) if length <= LONGEST_BODY else None
        body = b""
        while size := int(self.read_line().split(b";")[0], 16):
            if len(body) + size > LONGEST_BODY:
                return None
            body += self.read_exactly(size)
            self.read_line()
        while self.read_line().strip():
            pass  # trailers
        return body

    def read_line(self):
        line = self.rfile.readline(65536)
        if not line.endswith(b"\n"):
            raise ConnectionError("the sender went away")
        return line

    def read_exactly(self, length):
        data = self.rfile.read(length)
        if len(data) < length:
            raise ConnectionError("the sender went away")
        return data

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # A sender that hangs up is no error of ours; anything else is.
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    Server(("127.0.0.1", PORT), Receiver).serve_forever()
