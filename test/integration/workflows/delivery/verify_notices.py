"""Verifies notices as a customer's receiver in Python does, with the public Standard Webhooks library.

Reads one JSON object a line: {"secret", "body" (base64 of the bytes that came), "headers"}; writes one verdict a line.
"""

import base64
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    notice = json.loads(line)
    try:
        Webhook(notice["secret"]).verify(base64.b64decode(notice["body"]), notice["headers"])
        print("verified")
    except WebhookVerificationError as error:
        print(f"refused: {error}")
