"""Confluent's REST API.

- `call.py` (pure): a request, as the original's filters leave it, and what its parts say.
- `routes.py` (pure): which function answers which method and path.
- `answers.py` (pure): what answers look like in JSON.
- One module a resource: what is asked, and what is done for it.
- `app.py`: HTTP, by starlette.
"""
