"""Put the rows of a PostgreSQL database back instead of copying it again, which takes ten times as long."""

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import psycopg

Schema = tuple[Any, ...]
Connection = psycopg.Connection[tuple[Any, ...]]

RENEWALS: Final = 50
"""After so many a database is copied again, because deleted rows leave something behind."""
RENEWING: Final = "modhub renewing"
"""The `application_name` of the connections that renew databases: tests that count connections leave them out."""

_SCHEMA: Final = """
SELECT (SELECT sum(xmin::text::bigint) FROM pg_class WHERE oid >= 16384)
     + (SELECT sum(xmin::text::bigint) FROM pg_attribute WHERE attrelid >= 16384)
     + (SELECT sum(xmin::text::bigint) FROM pg_constraint WHERE oid >= 16384)
     + (SELECT coalesce(sum(xmin::text::bigint), 0) FROM pg_trigger WHERE oid >= 16384)
     + (SELECT coalesce(sum(xmin::text::bigint), 0) FROM pg_proc WHERE oid >= 16384)
     + (SELECT coalesce(sum(hashtext(setconfig::text)), 0) FROM pg_db_role_setting),
       (SELECT count(*) FROM pg_class WHERE oid >= 16384), (SELECT count(*) FROM pg_trigger WHERE oid >= 16384)
"""
"""Other values after each change of the schema; the same for all copies of a template."""
_KEPT: Final = "template_rows"
"""The schema with the rows that the template's tables have."""
KEEP_ROWS: Final = f"""
CREATE SCHEMA {_KEPT};
DO $$
DECLARE name text; filled boolean;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
        IF filled THEN EXECUTE format('CREATE TABLE {_KEPT}.%I AS TABLE public.%I', name, name); END IF;
    END LOOP;
    CREATE TABLE {_KEPT}." sequences" AS SELECT sequencename AS name, last_value AS value, start_value AS start
        FROM pg_sequences WHERE schemaname = 'public';
END $$
"""  # noqa: S608 - nothing comes from outside
PUT_ROWS_BACK: Final = f"""
BEGIN;
SET LOCAL session_replication_role = replica; -- no triggers, no order of foreign keys
SET LOCAL lock_timeout = '500ms';
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
            AND pg_relation_size(oid) > 0 LOOP
        EXECUTE format('DELETE FROM public.%I', name);
    END LOOP;
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = '{_KEPT}'::regnamespace AND relkind = 'r'
            AND relname <> ' sequences' LOOP
        EXECUTE format('INSERT INTO public.%I SELECT * FROM {_KEPT}.%I', name, name);
    END LOOP;
    PERFORM setval(format('public.%I', sequence.name)::regclass, coalesce(value, start), value IS NOT NULL)
        FROM {_KEPT}." sequences" AS sequence;
END $$;
COMMIT
"""  # noqa: S608 - nothing comes from outside


class TemplateRows:
    """The rows of templates, and the connections to databases that are copies of them.

    ``connect`` opens a connection to a database by its name, with an `application_name`.
    """

    def __init__(self, connect: Callable[[str, str], Connection]) -> None:
        self._connect = connect
        self._schemas: dict[str, Schema] = {}
        self._renewals: Counter[str] = Counter()
        self._connections: dict[str, Connection] = {}

    def keep(self, template: str, database: str) -> None:
        """Keep the rows of a template beside its tables, for its copies."""
        with self._connect(database, RENEWING) as connection:
            connection.execute(KEEP_ROWS)
            self._schemas[template] = _read_schema(connection)

    def put_back(self, database: str, template: str) -> bool:
        """Make a copy of a template as it was; False if its schema has changed, somebody holds a lock, or often."""
        self._renewals[database] += 1
        if self._renewals[database] % RENEWALS == 0:
            return False
        with contextlib.suppress(psycopg.Error):
            # They stay open, because the first statements of a connection take ten times as long.
            if database not in self._connections:
                self._connections[database] = self._connect(database, RENEWING)
            connection = self._connections[database]
            if _read_schema(connection) == self._schemas[template]:
                connection.execute(PUT_ROWS_BACK)
                return True
        return False

    def disconnect(self, database: str) -> None:
        """Close the connection to a database, if there is one."""
        if database in self._connections:
            self._connections.pop(database).close()

    def close(self) -> None:
        """Close all connections."""
        for database in [*self._connections]:
            self.disconnect(database)


def _read_schema(connection: Connection) -> Schema:
    schema = connection.execute(_SCHEMA).fetchone()
    assert schema is not None
    return schema
