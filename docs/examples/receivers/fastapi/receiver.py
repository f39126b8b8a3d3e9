"""A webhook receiver on FastAPI.

PORT=9000 WEBHOOK_SECRET=whsec_... uvicorn --port $PORT receiver:app"""

import hmac
import json
import os
import sqlite3
import sys
import time
from base64 import b64decode, b64encode
from contextlib import closing

from fastapi import Depends, FastAPI, Request, Response

KEY = b64decode(os.environ.get("WEBHOOK_SECRET", "").removeprefix("whsec_")) or sys.exit("WEBHOOK_SECRET is not set")


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


async def raw_body(request: Request) -> bytes:
    return await request.body()


app = FastAPI()


@app.post("/hook")
def hook(request: Request, body: bytes = Depends(raw_body)) -> Response:  # `def`: runs in a thread, where it may wait
    if not is_genuine(request.headers, body):
        return Response(status_code=401)
    try:
        is_event = isinstance(json.loads(body.decode())["event"]["data"], dict)
    except (ValueError, LookupError, TypeError, RecursionError):
        is_event = False
    if not is_event:
        return Response(status_code=400)
    webhook_id = request.headers["webhook-id"]
    # One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
    with connect() as db, db:
        if db.execute("INSERT INTO webhook_ids VALUES (?) ON CONFLICT DO NOTHING", [webhook_id]).rowcount == 1:
            db.execute("INSERT INTO events VALUES (?, ?)", [webhook_id, body.decode()])
    return Response(status_code=200)
