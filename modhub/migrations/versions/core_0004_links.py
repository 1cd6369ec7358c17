"""The public copy of a mod names its files and their digests, for the Link header of the single mod."""

import sqlalchemy as sa
from alembic import op

revision = "core_0004"
down_revision = "core_0003"
branch_labels = None
depends_on = None

_FILE = """
SELECT '</Modhub/file/' || asset.id || '>; rel="enclosure"; kind="{kind}"; sha256="' || blob.sha256 || '"'
FROM core_asset AS asset JOIN core_blob AS blob ON blob.id = asset.blob_id
WHERE asset.mod_id = core_public_mod.id AND asset.kind = '{kind}'
"""
_HAS = "EXISTS (SELECT 1 FROM core_asset AS asset WHERE asset.mod_id = core_public_mod.id AND asset.kind = '{kind}')"


def upgrade() -> None:
    """Add the column, and fill it for the mods that are published already."""
    op.add_column("core_public_mod", sa.Column("links", sa.Text(), server_default="", nullable=False))
    for kind, parting in (("code", "''"), ("css", "CASE WHEN links = '' THEN '' ELSE ', ' END")):
        found, has = _FILE.format(kind=kind), _HAS.format(kind=kind)
        op.execute(f"UPDATE core_public_mod SET links = links || {parting} || ({found}) WHERE {has}")  # noqa: S608


def downgrade() -> None:
    """Take the column away; the rest of the copies is as it was."""
    op.drop_column("core_public_mod", "links")
