"""The least that FastAPI does for a synchronous endpoint: what a service is compared with.

python -m uvicorn hello:app --app-dir benchmarks --no-access-log
"""

from fastapi import FastAPI

app = FastAPI()


@app.get("/")
def hello() -> dict[str, str]:
    """Return a constant: nothing is read, charged or stored."""
    return {"hello": "world"}
