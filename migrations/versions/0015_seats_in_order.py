"""An index by which the next free seat is found without looking at all of them."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_assignment_in_order", "assignment", ["campaign_id", "status", "slot", "batch_id"])


def downgrade() -> None:
    op.drop_index("ix_assignment_in_order", "assignment")
