"""Pages of the wiki, their revisions, and the words that search looks at."""

import sqlalchemy as sa
from alembic import op

revision = "wiki_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "wiki_page",
        sa.Column("id", ID, nullable=False),
        sa.Column("path", sa.String(200), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_wiki_page"),
        sa.UniqueConstraint("path", name="uq_wiki_page_path"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "wiki_revision",
        sa.Column("id", ID, nullable=False),
        sa.Column("page_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("author", sa.String(12), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("contents", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["wiki_page.id"], name="fk_wiki_revision_page_id_wiki_page"),
        sa.PrimaryKeyConstraint("id", name="pk_wiki_revision"),
        sa.UniqueConstraint("page_id", "number", name="uq_wiki_revision_page_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_wiki_revision_created_at", "wiki_revision", ["created_at"])
    op.create_table(
        "wiki_words",
        sa.Column("page_id", ID, autoincrement=False, nullable=False),
        sa.Column("plain", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["wiki_page.id"], name="fk_wiki_words_page_id_wiki_page"),
        sa.PrimaryKeyConstraint("page_id", name="pk_wiki_words"),
    )
