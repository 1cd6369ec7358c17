"""The cookies that the service sets, all of one kind (C-SEC-1).

Only the server reads them, so they are ``HttpOnly``. Over https their names begin with ``__Host-``: browsers then take
them from this host alone, not from another one of the same domain.
"""

from typing import Any

from modhub.web.request import Request


def is_https(registry: Any) -> bool:
    """Whether ``modhub.base_url`` is https."""
    return bool(registry.settings["modhub.base_url"].startswith("https:"))


def own_cookie_name(registry: Any, name: str) -> str:
    """What the cookie is called: browsers accept the prefix over https only."""
    return f"__Host-{name}" if is_https(registry) else name


def own_cookie(request: Request, name: str) -> str:
    """The value that the visitor sent; empty without one."""
    return str(request.cookies.get(own_cookie_name(request.registry, name), ""))


def set_own_cookie(request: Request, response: Any, name: str, value: str, max_age: int | None = None) -> None:
    """Set the cookie for ``max_age`` seconds: None until the browser ends, 0 removes it."""
    response.set_cookie(
        own_cookie_name(request.registry, name),
        value,
        max_age=max_age,
        path="/",
        secure=is_https(request.registry),
        httponly=True,
        samesite="Lax",
    )
