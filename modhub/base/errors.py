"""Expected errors. Each exception carries the HTTP status, error code, message and headers of its response.

Raising one rolls the transaction back; :mod:`modhub.web.error_views` renders it as JSON or as a page.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from modhub.content.text import N_

_Value = TypeVar("_Value")
_FIELDS: Final = ("field", "other")
"""The values that are field names: JSON's for programs, a form's labels for people."""


class ApiError(Exception):
    """An expected error: status, snake-case code, one sentence for a person (C-ERR-1).

    A sentence may have placeholders, ``"A mod cannot name its own GUID in %(field)s."``, filled from ``values``, so
    that it can be translated and a page can insert its own label for the field. ``extra`` holds further fields of the
    body (``limitBytes``, ``version`` ...), ``headers`` those added to the response.
    """

    back: tuple[str, str] | None = None
    """The path and the words (a msgid) of the link that the error's page has to where the reader came from."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        values: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.sentence = message
        self.values = dict(values or {})
        self.message = message % self.values if values else message
        super().__init__(self.message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.extra = extra

    def body(self) -> dict[str, object]:
        """The JSON body: code, sentence, then the named fields."""
        return {"error": self.code, "message": self.message, **self.extra}

    def localized(self, translate: Callable[..., str], labels: Mapping[str, str] | None = None) -> str:
        """The sentence in the reader's language; ``labels`` are the form's labels, by field name."""
        names = labels or {}
        values = {key: names.get(str(value), value) if key in _FIELDS else value for key, value in self.values.items()}
        return translate(self.sentence, **values)


def invalid(message: str, **values: object) -> ApiError:
    """400: the input breaks a rule; ``message`` names the field and the rule, ``values`` fill its placeholders."""
    return ApiError(400, "invalid_input", message, values=values)


def account_blocked() -> ApiError:
    """403: the operator has blocked the account; the same for every request."""
    return ApiError(403, "account_blocked", "The operator of this service has blocked this account.")


def not_found() -> ApiError:
    """404, the same for something absent and something that the caller may not see."""
    return ApiError(404, "not_found", "Nothing was found at this address.")


def found(value: _Value | None) -> _Value:
    """Return the value; 404 if there is none."""
    if value is None:
        raise not_found()
    return value


def conflict(code: str, message: str, **extra: Any) -> ApiError:
    """409: the current state does not allow it."""
    return ApiError(409, code, message, **extra)


UPLOAD_TOO_LARGE: Final = N_("The upload is larger than %(limit)s bytes; nothing was saved.")
BODY_TOO_LARGE: Final = N_("The request body is larger than %(limit)s bytes; nothing was done.")


def too_large(limit: int, message: str = UPLOAD_TOO_LARGE) -> ApiError:
    """413: ``limit`` is the limit in bytes that was exceeded (C-TXT-7)."""
    return ApiError(413, "too_large", message, values={"limit": limit}, limitBytes=limit)


def busy(seconds: int = 2) -> ApiError:
    """503 with ``Retry-After``: the database, or room for a body, is not available right now (C-ERR-16)."""
    headers = {"Retry-After": str(seconds)}
    return ApiError(503, "busy", "The service is busy. Try again in a moment.", headers=headers)


def storage_not_configured() -> ApiError:
    """503 without ``Retry-After``: the operator has configured no file store; retrying will not help."""
    return ApiError(503, "storage_not_configured", "File storage is not set up on this service.")


def storage_unreachable() -> ApiError:
    """503: a stored file cannot be read right now."""
    message = N_("The stored file cannot be read right now. Try again in a moment.")
    return ApiError(503, "storage_unreachable", message, headers={"Retry-After": "5"})


def storage_refused() -> ApiError:
    """502: the store failed to write; nothing was saved; worth one retry (C-ERR-15)."""
    return ApiError(502, "storage_refused", "The file could not be stored; nothing was saved. Try again.")


class OwnershipLost(Exception):
    """The thing was deleted, or was never the caller's: the response is the credential's challenge (C-OWN-12)."""


class RunAgain(Exception):
    """The view has to run again, when the server has done what ``status`` asks of it.

    100: read the body, which it has not read yet. 102: take its thread of large responses, as this one is.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status
