"""What the connection pools do when the database's primary changes, and when no standby has confirmed a commit.

Only PostgreSQL has standbys (docs/operations.md, "A standby and a failover").
"""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Engine, event

_CANNOT_WRITE: Final = "25006"
_UNCONFIRMED: Final = "modhub unconfirmed commit"
_WAITS_FOR_STANDBY: Final = "SyncRepWaitForLSN"
"""PostgreSQL's function that warns: its message is in the server's language."""


def leave_demoted_server(engine: Engine, empty_pools: Callable[[], None]) -> None:
    """When a write finds that its server can only be read, close that connection and empty all pools.

    A server that was demoted, or an address that leads to a standby, is alive: no check of the connection notices it.
    """

    @event.listens_for(engine, "handle_error")
    def _handle_error(context: Any) -> None:
        if getattr(context.original_exception, "sqlstate", None) == _CANNOT_WRITE:
            # SQLAlchemy then empties this engine's pool by itself.
            context.is_disconnect = True
            empty_pools()


def refuse_unconfirmed_commits(engine: Engine) -> None:
    """Let a COMMIT fail whose wait for a synchronous standby was cancelled.

    PostgreSQL has committed and says so with a warning; a failover would lose it. Like every error of a COMMIT this one
    leaves open whether the rows exist.
    """
    dialect: Any = engine.dialect
    commit = dialect.do_commit

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, record: Any) -> None:
        def note(diagnostic: Any) -> None:
            if diagnostic.source_function == _WAITS_FOR_STANDBY:
                record.info[_UNCONFIRMED] = True

        connection.add_notice_handler(note)

    def do_commit(connection: Any) -> None:
        commit(connection)
        if connection.info.pop(_UNCONFIRMED, False):
            raise dialect.loaded_dbapi.OperationalError("no standby has confirmed the commit; the rows may exist")

    dialect.do_commit = do_commit
