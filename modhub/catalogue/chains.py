"""What a mod needs, in the order of installing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from modhub.catalogue.references import fold_guid


@dataclass(frozen=True, slots=True)
class InstallChain:
    """The documents of a mod's chain in the order of installing, its own the last; and the GUIDs that are missing.

    ``links`` is what the ``Link`` header says of the mod's own files, read at the same moment as its document.
    """

    install: list[bytes]
    missing: list[str]
    links: str


def install_order(root: str, requires: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """(order, missing) of the chain below ``root`` (C-READ-5).

    Depth first over the lists in their order, post-order, each once; iterative, since chains have no greatest depth.
    ``requires`` has folded GUIDs as its keys, and lists as they were written. What it does not know is missing, and
    named as it is first met.
    """
    order: list[str] = []
    missing: list[str] = []
    seen = {root}
    stack: list[tuple[str, Iterable[str]]] = [(root, iter(requires[root]))]
    while stack:
        guid, rest = stack[-1]
        for written in rest:
            needed = fold_guid(written)
            if needed in seen:
                continue
            seen.add(needed)
            if needed in requires:
                stack.append((needed, iter(requires[needed])))
                break
            missing.append(written)
        else:
            order.append(guid)
            stack.pop()
    return order, missing
