"""Base classes of the bodies of requests and answers, which the OpenAPI document describes.

The sentence below a field is the field's description there.
"""

from __future__ import annotations

from pydantic import BaseModel


class AnswerModel(BaseModel, use_attribute_docstrings=True):
    """The body of an answer."""


class RequestModel(BaseModel, extra="forbid", strict=True, use_attribute_docstrings=True):
    """The body of a request: unknown fields and values of another type are refused."""
