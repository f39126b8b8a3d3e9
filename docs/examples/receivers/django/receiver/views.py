import hmac
import json
import os
import sys
import time
from base64 import b64decode, b64encode

from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from .models import Event, WebhookId

KEY = b64decode(os.environ.get("WEBHOOK_SECRET", "").removeprefix("whsec_")) or sys.exit("WEBHOOK_SECRET is not set")


def is_genuine(headers, body):
    timestamp = headers.get("webhook-timestamp", "")
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = b"v1," + b64encode(hmac.digest(KEY, signed, "sha256"))
    given = headers.get("webhook-signature", "").encode().split(b" ")
    if not any([hmac.compare_digest(one, expected) for one in given]):
        return False
    return timestamp.isdecimal() and abs(time.time() - int(timestamp)) <= 300


@csrf_exempt
@require_POST
def hook(request):
    if not is_genuine(request.headers, request.body):
        return HttpResponse(status=401)
    try:
        is_event = isinstance(json.loads(request.body.decode())["event"]["data"], dict)
    except (ValueError, LookupError, TypeError, RecursionError):
        is_event = False
    if not is_event:
        return HttpResponse(status=400)
    webhook_id = request.headers["webhook-id"]
    try:
        # One transaction: the id is known and the event is kept, or neither. Another process works on `events` later.
        with transaction.atomic():
            WebhookId.objects.create(id=webhook_id)
            Event.objects.create(webhook_id=webhook_id, body=request.body.decode())
    except IntegrityError:
        if not WebhookId.objects.filter(id=webhook_id).exists():
            raise
    return HttpResponse(status=200)


urlpatterns = [path("hook", hook)]
