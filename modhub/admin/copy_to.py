"""``modhub-admin copy-to URL``: all rows from SQLite into an empty PostgreSQL database, in one transaction."""

import argparse
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import delete, insert, select, text

from modhub.admin import migrate
from modhub.admin.dumps import disposing, in_one_sentence, read_dumped, refuse_unnamed
from modhub.admin.observations import BACKUP_VERIFIED, Observation
from modhub.admin.restore import refuse_tables
from modhub.admin.row_ids import last_used_id, skip_ids
from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.db import Base, Databases, bulk
from modhub.plugins.commands import AdminCommand, add_dry_run_option
from modhub.plugins.declarations import Migrations

_EXAMPLES: Final = """\
copy-to --dry-run postgresql+psycopg://modhub@/modhub?host=/run/postgresql    checks both, copies nothing
copy-to postgresql+psycopg://modhub@/modhub?host=/run/postgresql              copies all rows; files stay"""


def run_copy_to(admin: Any, arguments: argparse.Namespace) -> int:
    """Copy the rows. What the service writes meanwhile stays behind: it must be stopped."""
    databases, packages = admin.databases, admin.declarations.migrations
    with disposing(arguments.url, databases.limits) as target:
        if (databases.dialect, target.dialect) != ("sqlite", "postgresql"):
            raise StartRefused("copy-to copies from SQLite, which sqlalchemy.url names, to PostgreSQL")
        refuse_tables(target)
        refuse_unnamed(migrate.with_connection(databases, read_dumped).revisions, packages)
        if arguments.dry_run:
            admin.say("Would copy all rows. Nothing was changed.")
            return 0
        with admin.writing() as (session, _):
            record(session, "database copied", "database")
        with in_one_sentence(target, "nothing was copied"):
            copied = copy_rows(databases, target, packages)
    admin.say(f"Copied {copied} rows. Now name that database in sqlalchemy.url; the files stay where they are.")
    return 0


def copy_rows(databases: Databases, target: Databases, packages: list[Migrations]) -> int:
    """Make the schema in ``target`` and copy the rows of all tables; returns how many there were."""
    prefixes, copied = tuple(package.table_prefix for package in packages), 0
    tables = [table for table in Base.metadata.sorted_tables if table.name.startswith(prefixes)]
    with migrate.migration_lock(target) as connection, databases.readonly_engine.connect() as source:
        source.exec_driver_sql("BEGIN")
        for package in packages:
            migrate.upgrade_package(connection, package)
        for table in reversed(tables):
            connection.execute(table.delete())  # what migrations put there
        for table in tables:
            rows = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=bulk.BATCH)
            for batch in source.execute(rows).mappings().partitions():
                connection.execute(insert(table), [dict(row) for row in batch])
                copied += len(batch)
            skip_ids(connection, table, last_used_id(source, table) or 0)
        connection.execute(delete(Observation).where(Observation.name == BACKUP_VERIFIED))  # of the other database
        connection.execute(text("ANALYZE"))
    return copied


def copy_to_arguments(parser: argparse.ArgumentParser) -> None:
    """``URL``, ``--dry-run``"""
    parser.add_argument("url", metavar="URL", help="an empty PostgreSQL database, as in sqlalchemy.url")
    add_dry_run_option(parser, "check both databases, copy nothing")


def includeme(config: Configurator) -> None:
    """Register the command."""
    about = "copy the database from SQLite to PostgreSQL, while the service is stopped"
    config.add_command(AdminCommand("copy-to", about, copy_to_arguments, run_copy_to, examples=_EXAMPLES))
