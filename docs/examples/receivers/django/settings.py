"""The Django project around the receiver. ASGI, because Django reads no chunked body under WSGI.

    export DATABASE=receiver.db WEBHOOK_SECRET=whsec_... DJANGO_SETTINGS_MODULE=settings
    python3 -m django migrate --run-syncdb --pythonpath . && uvicorn --port 9000 settings:application
"""

import os

from django.core.asgi import get_asgi_application

SECRET_KEY = os.environ["WEBHOOK_SECRET"]
INSTALLED_APPS = ["receiver"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DATABASE", "receiver.db")}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "receiver.views"
application = get_asgi_application()
