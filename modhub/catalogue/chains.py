"""The installation order of a mod and all that it requires."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from modhub.catalogue.references import fold_guid
from modhub.plugins.services import StoredDocument


@dataclass(frozen=True, slots=True)
class InstallChain:
    """What is stored of a mod and all that it requires, in installation order, and the GUIDs that are missing.

    The mod itself is last.
    """

    install: list[StoredDocument]
    missing: list[str]


def install_order(roots: Iterable[str], requires: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """Return (order, missing) for the wanted GUIDs and all that they require (C-READ-5).

    A depth-first post-order traversal that visits each mod once; iterative, since the depth is not limited.
    ``requires`` maps folded GUIDs to lists of GUIDs as written. A GUID without an entry is missing, and is returned in
    the spelling in which it first occurs.
    """
    order: list[str] = []
    missing: list[str] = []
    seen: set[str] = set()
    # The wanted ones are what nothing requires; no GUID is empty.
    stack: list[tuple[str, Iterable[str]]] = [("", iter(roots))]
    while stack:
        guid, guids = stack[-1]
        for spelling in guids:
            folded = fold_guid(spelling)
            if folded in seen:
                continue
            seen.add(folded)
            if folded in requires:
                stack.append((folded, iter(requires[folded])))
                break
            missing.append(spelling)
        else:
            order.append(guid)
            stack.pop()
    return order[:-1], missing
