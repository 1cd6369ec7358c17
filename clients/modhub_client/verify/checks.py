"""What a check is. Each proves some clauses; modules ``read_…``, ``follow_…``, ``own_…`` and ``publish_…`` have them.

::

    @check("C-LIST-1")
    def a_list_counts_its_mods(run: Run) -> None:
        listed = run.service.read("/api/modhub")
        require_equal("count", len(listed["mods"]), listed["count"])

A check returns, or raises `Broken`, `Skipped` or `Absent`. It asks, and changes nothing, in the parts ``read`` and
``follow``: these run in any order, four at a time. A check that is not about the interface but about what modhub adds
to it says ``added=True``, so that another implementation can be judged without it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Final, Literal

from modhub_client.verify.run import Run

VerifiedPart = Literal["read", "follow", "own", "publish"]
VERIFIED_PARTS: Final[tuple[VerifiedPart, ...]] = ("read", "follow", "own", "publish")


@dataclass(frozen=True)
class ContractCheck:
    """A check: the clauses that it proves, its part, and the feature that a deployment may leave out."""

    clauses: tuple[str, ...]
    part: VerifiedPart
    feature: str
    added: bool
    run: Callable[[Run], None]

    @property
    def name(self) -> str:
        """The name of the function, as words."""
        return self.run.__name__.strip("_").replace("_", " ")

    @property
    def module(self) -> str:
        """The module that has it, without its package."""
        return self.run.__module__.rpartition(".")[2]


def check(
    *clauses: str, part: VerifiedPart = "read", feature: str = "core", added: bool = False
) -> Callable[[Callable[[Run], None]], ContractCheck]:
    """Make a check of a function."""
    return lambda run: ContractCheck(clauses, part, feature, added, run)


follow_check = partial(check, part="follow", feature="modhub_sync", added=True)
"""A check of the part ``follow``."""
own_check = partial(check, part="own")
"""A check of the part ``own``."""
publish_check = partial(check, part="publish")
"""A check of the part ``publish``."""


def checks_of(*modules: ModuleType) -> Iterator[ContractCheck]:
    """The checks of modules, in the order of their definition."""
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, ContractCheck))
