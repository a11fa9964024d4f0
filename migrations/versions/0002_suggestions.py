"""Spans of another campaign that annotators are shown, and those they turned down."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "suggestion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("category_id", sa.Integer(), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("start_offset", sa.Integer(), nullable=False),
        sa.Column("end_offset", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("side", sa.String(), nullable=False),
        sa.Column("output_position", sa.Integer(), nullable=False),
        sa.Column("source_field", sa.String(), nullable=True),
        sa.Column("subcategory", sa.String(), nullable=True),
        sa.Column("severity", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("attributes", sa.JSON(), nullable=True),
        sa.CheckConstraint("0 <= start_offset AND start_offset <= end_offset", name=op.f("ck_suggestion_offsets")),
        sa.CheckConstraint("side IN ('output', 'source')", name=op.f("ck_suggestion_side")),
        sa.ForeignKeyConstraint(["category_id"], ["category.id"], name=op.f("fk_suggestion_category_id_category")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_suggestion_item_id_item"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suggestion")),
        sa.UniqueConstraint("item_id", "number", name=op.f("uq_suggestion_item_id_number")),
    )
    op.add_column("annotation", sa.Column("dismissed", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("annotation", "dismissed")
    op.drop_table("suggestion")
