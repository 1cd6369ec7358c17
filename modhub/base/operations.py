"""What an API view declares about itself, for the description at ``/api/openapi.json`` (:mod:`modhub.web.openapi`).

Declared where the view is, in its decorator. The description adds what holds for all: paths and methods from the
resource tree, credentials from permissions, validators of public reads, and the errors that follow from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from modhub.content.limits import JSON_BODY, KB, MB


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query, or the variable segment of an address.

    ``kind`` is ``str``, ``int`` or ``bool``; ``default`` is what counts if it is not sent. Limits that cut, and values
    that count as not sent, are told in ``about``: a schema would refuse them (C-TXT-1, C-LIST-2).
    """

    name: str
    about: str
    kind: type = str
    default: Any = None
    required: bool = False
    example: Any = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of one call: its status, its code (C-ERR-1), and when it comes.

    ``body`` is a Struct if it has fields of its own beside those of every error; ``limit`` is the example of
    ``limitBytes``.
    """

    status: int
    code: str
    about: str
    body: Any = None
    limit: int = JSON_BODY


def body_over(limit: int) -> Refusal:
    """413 for a body of more than ``limit`` bytes, a number of MB or KB."""
    size = f"{limit // MB} MB" if limit % MB == 0 else f"{limit // KB} KB"
    return Refusal(413, "too_large", f"More than {size} ({limit:,} bytes).", limit=limit)


@dataclass(frozen=True, slots=True)
class Lead:
    """A call that may follow, and which of its parameters this answer has.

    ``parameters``: runtime expressions of OpenAPI by name, as in ``{"id": "$response.body#/id"}``.
    """

    operation: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FileBody:
    """A body that is a file and not JSON: of a request, or of a response."""

    about: str
    content_type: str = "application/octet-stream"

    @property
    def is_text(self) -> bool:
        """Whether it is a text, which is kept in the database and not in the file storage."""
        return self.content_type.startswith("text/")


FILE_LINKS: Final = Parameter(
    "Link", 'The files of the mod (RFC 8288), each with `rel="enclosure"`, its `kind` and its `sha256`.'
)
"""The header of a single mod (C-READ-11)."""
RANGED_FILE: Final = FileBody("The bytes of the file, or a part of them.")
"""A stored file, with conditions and ranges (C-FILE-2)."""


SCHEMA_OF: Final = "#/components/schemas/{name}"


def about(text: str, *examples: Any, **schema: Any) -> msgspec.Meta:
    """Say what a field of a Struct is, as in ``Annotated[int, about("Its size", 48213)]``.

    The description has it, and the reference at ``/Modhub/doc``: one sentence in Markdown without its full stop, in
    which ``[text](#part)`` leads to a part of the reference. ``schema`` is further JSON Schema.
    """
    return msgspec.Meta(description=text, examples=list(examples) or None, extra_json_schema=schema or None)


def documented_as(name: str, *, many: bool = False) -> msgspec.Meta:
    """Say of encoded JSON, as in ``Annotated[Raw, documented_as("ModDocument")]``, which Struct has its fields.

    ``many``: it is a list of them.
    """
    schema: dict[str, Any] = {"$ref": SCHEMA_OF.format(name=name)}
    return msgspec.Meta(extra_json_schema={"type": "array", "items": schema} if many else schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a call does, takes and answers.

    ``id`` is its name in generated clients. ``takes`` and ``returns`` are Structs, files, or None for no body.
    ``schemas`` are Structs that these name by :func:`documented_as`. ``also`` are other statuses of success.
    ``refusals`` are those of this call alone. ``signed_in_too``: an account's token is optional. ``blocked_too``: an
    account that is blocked may call it. ``takes_anything``: a body that cannot be read is no error. ``sends`` are
    headers of the answer. ``leads_to`` are calls that may follow. ``clauses`` are ids of
    ``modhub/contract.md``, which has their texts; the id of another contract is shown by itself.
    """

    id: str
    about: str
    takes: Any = None
    takes_anything: bool = False
    returns: Any = None
    schemas: tuple[Any, ...] = ()
    status: int = 200
    also: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    signed_in_too: bool = False
    blocked_too: bool = False
    sends: tuple[Parameter, ...] = ()
    leads_to: tuple[Lead, ...] = ()
    clauses: tuple[str, ...] = ()
