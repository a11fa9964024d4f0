"""Practice left the batches for a part of its own; stored definitions no longer name a number of practice items."""

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

CAMPAIGN = sa.table(
    "campaign", sa.column("id", sa.Integer), sa.column("definition", sa.JSON), sa.column("definition_sha256", sa.String)
)


def upgrade() -> None:
    connection = op.get_bind()
    for campaign_id, definition in connection.execute(sa.select(CAMPAIGN.c.id, CAMPAIGN.c.definition)).all():
        if "tutorial" not in (definition.get("batches") or {}):
            continue
        del definition["batches"]["tutorial"]
        digest = hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()
        changed = sa.update(CAMPAIGN).where(CAMPAIGN.c.id == campaign_id)
        connection.execute(changed.values(definition=definition, definition_sha256=digest))


def downgrade() -> None:
    pass  # a definition that does not name the number has none
