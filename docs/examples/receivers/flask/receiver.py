"""A webhook receiver on Flask.

PORT=9000 WEBHOOK_SECRET=whsec_... gunicorn --threads 16 --bind 127.0.0.1:$PORT receiver:app"""

import hmac
import json
import os
import sqlite3
import sys
import time
from base64 import b64decode, b64encode
from contextlib import closing

from flask import Flask, request

KEY = b64decode(os.environ.get("WEBHOOK_SECRET", "").removeprefix("whsec_")) or sys.exit("WEBHOOK_SECRET is not set")

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 1024 * 1024


def connect():
    db = sqlite3.connect(os.environ.get("DATABASE", "receiver.db"), timeout=4)
    db.execute("PRAGMA synchronous = FULL")  # a commit returns when the rows are on disk
    return closing(db)


with connect() as db:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE IF NOT EXISTS webhook_ids (id TEXT PRIMARY KEY)")
    db.execute("CREATE TABLE IF NOT EXISTS events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)")


def is_genuine(headers, body):
    timestamp = headers.get("webhook-timestamp", "")
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = b"v1," + b64encode(hmac.digest(KEY, signed, "sha256"))
    given = headers.get("webhook-signature", "").encode().split(b" ")
    if not any([hmac.compare_digest(one, expected) for one in given]):
        return False
    return timestamp.isdecimal() and abs(time.time() - int(timestamp)) <= 300


@app.post("/hook", provide_automatic_options=False)
def hook():
    body = request.get_data()
    if not is_genuine(request.headers, body):
        return "", 401
    try:
        is_event = isinstance(json.loads(body.decode())["event"]["data"], dict)
    except (ValueError, LookupError, TypeError, RecursionError):
        is_event = False
    if not is_event:
        return "", 400
    webhook_id = request.headers["webhook-id"]
    # One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
    with connect() as db, db:
        if db.execute("INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING", [webhook_id]).rowcount == 1:
            db.execute("INSERT INTO events VALUES (?, ?)", [webhook_id, body.decode()])
    return "", 200
