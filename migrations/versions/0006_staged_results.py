"""Store results stage by stage, and when a job was taken."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Results are computed again when somebody asks for them; old ones do not say which question they answer.
    op.drop_table("agreement_result")
    op.create_table(
        "agreement_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("revisions", sa.JSON(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreement_result")),
        sa.UniqueConstraint("signature", "stage", name=op.f("uq_agreement_result_signature_stage")),
    )
    op.create_index(op.f("ix_agreement_result_question"), "agreement_result", ["question"])
    with op.batch_alter_table("job") as job:
        job.add_column(sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("job") as job:
        job.drop_column("started_at")
    op.drop_table("agreement_result")
    op.create_table(
        "agreement_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreement_result")),
        sa.UniqueConstraint("signature", name=op.f("uq_agreement_result_signature")),
    )
