#!/bin/sh
# Two newspapers, from an empty folder: two vendors that forward visits to each other, in three commands.
set -eu

tacit init press --vendors 2 --json > press.json
tacit serve press/press-1 --port "${PORT_1:-8001}" --json > first.json &
first=$!
tacit serve press/press-2 --port "${PORT_2:-8002}" --json > second.json &
trap 'kill $first $!' EXIT
until [ -s first.json ] && [ -s second.json ]; do kill -0 $first $!; sleep 0.2; done

# A reader visits the first one: the service shows an article, and learns of the click.
python3 - <<'VISIT'
import json
import secrets
from urllib.request import Request, urlopen

address = json.load(open("first.json"))["address"]
operator = json.load(open("press.json"))["keys"][0]["operator"]


def ask(path, key, body):
    """The answer to one request."""
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Idempotency-Key": secrets.token_hex(16),
    }
    with urlopen(Request(address + path, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


reader = ask("/api/people", operator, {"name": "Reader.One@example.com"})["key"]
shown = ask("/api/vendors/press-1/visits", reader, {"context": [0.2, 0.7]})
ask(f"/api/vendors/press-1/visits/{shown['visit']}/reward", reader, {"clicked": True})
print("The reader was shown", shown["video"])
VISIT
