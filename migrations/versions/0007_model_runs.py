"""Who asks a model about which item, questions handed in as batches, and calls whose price is not known."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "model_batch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_model_batch_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_batch")),
        sa.UniqueConstraint("key", name=op.f("uq_model_batch_key")),
    )
    op.create_index(op.f("ix_model_batch_campaign_id"), "model_batch", ["campaign_id"])
    op.create_table(
        "model_claim",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("batch_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reserved", sa.Double(), nullable=False),
        sa.Column("failure", sa.String(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignment.id"],
            name=op.f("fk_model_claim_assignment_id_assignment"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_model_claim_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_model_claim_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["model_batch.id"], name=op.f("fk_model_claim_batch_id_model_batch"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("assignment_id", "item_id", name=op.f("pk_model_claim")),
    )
    op.create_index(op.f("ix_model_claim_campaign_id"), "model_claim", ["campaign_id"])
    op.create_index(op.f("ix_model_claim_batch_id"), "model_claim", ["batch_id"])
    with op.batch_alter_table("completion") as completion:
        completion.alter_column("cost", existing_type=sa.Double(), nullable=True)


def downgrade() -> None:
    op.execute("UPDATE completion SET cost = 0 WHERE cost IS NULL")
    with op.batch_alter_table("completion") as completion:
        completion.alter_column("cost", existing_type=sa.Double(), nullable=False)
    op.drop_table("model_claim")
    op.drop_table("model_batch")
