"""Invitations, closed accounts, scopes of tokens, and an audit log that is only added to."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEEP = "the audit log is only added to"


def upgrade() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('viewer', 'researcher', 'admin')", name=op.f("ck_invitation_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_invitation_token_sha256")),
    )
    op.add_column("user", sa.Column("deactivated_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        # What was made before there were scopes could do whatever its owner can.
        batch_op.add_column(sa.Column("scope", sa.String(), nullable=False, server_default="write"))
        batch_op.create_check_constraint(batch_op.f("ck_api_token_scope"), "scope IN ('read', 'write')")
    if op.get_bind().dialect.name == "sqlite":
        for act in ("update", "delete"):
            op.execute(
                f"CREATE TRIGGER event_no_{act} BEFORE {act.upper()} ON event BEGIN SELECT RAISE(ABORT, '{KEEP}'); END"
            )
    else:
        op.execute(
            f"CREATE FUNCTION keep_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{KEEP}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER event_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON event"
            " FOR EACH STATEMENT EXECUTE FUNCTION keep_event()"
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER event_no_update")
        op.execute("DROP TRIGGER event_no_delete")
    else:
        op.execute("DROP TRIGGER event_kept ON event")
        op.execute("DROP FUNCTION keep_event()")
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.drop_constraint(batch_op.f("ck_api_token_scope"), type_="check")
        batch_op.drop_column("scope")
    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.drop_column("deactivated_at")
    op.drop_table("invitation")
