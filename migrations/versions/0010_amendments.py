"""Amendments: what was changed in a definition after the launch, and which of them an annotation was made under."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "amendment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("definition_sha256", sa.String(length=64), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_amendment_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_amendment")),
        sa.UniqueConstraint("campaign_id", "number", name=op.f("uq_amendment_campaign_id_number")),
    )
    op.add_column("campaign", sa.Column("amendment", sa.Integer(), server_default="0", nullable=False))
    op.add_column("annotation", sa.Column("amendment", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("annotation", "amendment")
    op.drop_column("campaign", "amendment")
    op.drop_table("amendment")
