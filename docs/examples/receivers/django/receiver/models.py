from django.db.backends.signals import connection_created
from django.db.models import Model, TextField
from django.dispatch import receiver


class WebhookId(Model):
    id = TextField(primary_key=True)


class Event(Model):
    webhook_id = TextField()
    body = TextField()

    class Meta:
        db_table = "events"


@receiver(connection_created)
def durable(connection, **_):
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")  # a commit returns when the rows are on disk
