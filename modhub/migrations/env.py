"""Alembic's environment for every package; :mod:`modhub.admin.migrate` passes the live connection and the package."""

from alembic import context

from modhub.db import Base

package = context.config.attributes["package"]
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=package.version_table,
)
with context.begin_transaction():
    context.run_migrations()
