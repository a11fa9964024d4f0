"""Pools of qualified people, answers to practice items, and seats beyond those promised."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pool",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pool")),
        sa.UniqueConstraint("slug", name=op.f("uq_pool_slug")),
    )
    op.create_table(
        "pool_member",
        sa.Column("pool_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=True),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["annotator_id"], ["annotator.id"], name=op.f("fk_pool_member_annotator_id_annotator")),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
            name=op.f("fk_pool_member_campaign_id_campaign"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(["pool_id"], ["pool.id"], name=op.f("fk_pool_member_pool_id_pool"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("pool_id", "annotator_id", name=op.f("pk_pool_member")),
    )
    with op.batch_alter_table("pool_member", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_pool_member_annotator_id"), ["annotator_id"], unique=False)

    with op.batch_alter_table("assignment", schema=None) as batch_op:
        batch_op.add_column(sa.Column("extra", sa.Boolean(), server_default=sa.text("false"), nullable=False))

    with op.batch_alter_table("participation", schema=None) as batch_op:
        batch_op.add_column(sa.Column("practice", sa.JSON(), nullable=True))
        batch_op.add_column(sa.Column("practised_at", sa.DateTime(timezone=True), nullable=True))

    with op.batch_alter_table("qualification", schema=None) as batch_op:
        batch_op.add_column(sa.Column("attempts", sa.Integer(), server_default="1", nullable=False))
        batch_op.add_column(sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("qualification", schema=None) as batch_op:
        batch_op.drop_column("expires_at")
        batch_op.drop_column("attempts")

    with op.batch_alter_table("participation", schema=None) as batch_op:
        batch_op.drop_column("practised_at")
        batch_op.drop_column("practice")

    with op.batch_alter_table("assignment", schema=None) as batch_op:
        batch_op.drop_column("extra")

    with op.batch_alter_table("pool_member", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_pool_member_annotator_id"))

    op.drop_table("pool_member")
    op.drop_table("pool")
