"""Create all tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agreement_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreement_result")),
        sa.UniqueConstraint("signature", name=op.f("uq_agreement_result_signature")),
    )
    op.create_table(
        "annotator",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("pseudonym", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('human', 'llm')", name=op.f("ck_annotator_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotator")),
        sa.UniqueConstraint("pseudonym", name=op.f("uq_annotator_pseudonym")),
        sa.UniqueConstraint("source", "external_id", name=op.f("uq_annotator_source_external_id")),
    )
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("definition_sha256", sa.String(length=64), nullable=False),
        sa.Column("imported_from", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
        sa.UniqueConstraint("slug", name=op.f("uq_campaign_slug")),
    )
    op.create_table(
        "dataset",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset")),
        sa.UniqueConstraint("slug", name=op.f("uq_dataset_slug")),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("verb", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("progress", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=True),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("key", name=op.f("uq_job_key")),
    )
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_job_state"), ["state"], unique=False)

    op.create_table(
        "system",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_system")),
        sa.UniqueConstraint("slug", name=op.f("uq_system_slug")),
    )
    op.create_table(
        "user",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("session_epoch", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'researcher', 'admin')", name=op.f("ck_user_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
        sa.UniqueConstraint("email", name=op.f("uq_user_email")),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_api_token_user_id_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_token_hash")),
    )
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_api_token_user_id"), ["user_id"], unique=False)

    op.create_table(
        "batch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_batch_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch")),
        sa.UniqueConstraint("campaign_id", "number", name=op.f("uq_batch_campaign_id_number")),
    )
    op.create_table(
        "category",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("color", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_category_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_category")),
        sa.UniqueConstraint("campaign_id", "key", name=op.f("uq_category_campaign_id_key")),
    )
    op.create_table(
        "example",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("source", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["dataset.id"], name=op.f("fk_example_dataset_id_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_example")),
        sa.UniqueConstraint("dataset_id", "split", "key", name=op.f("uq_example_dataset_id_split_key")),
    )
    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("aspect", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_item_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
    )
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_item_campaign_id"), ["campaign_id"], unique=False)

    op.create_table(
        "participation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("session_key", sa.String(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("group", sa.String(), nullable=True),
        sa.Column("consent_version", sa.String(), nullable=True),
        sa.Column("consented_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("comprehension_attempts", sa.Integer(), nullable=False),
        sa.Column("comprehension_passed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_participation_annotator_id_annotator")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_participation_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_participation")),
        sa.UniqueConstraint("campaign_id", "session_key", name=op.f("uq_participation_campaign_id_session_key")),
        sa.UniqueConstraint("token", name=op.f("uq_participation_token")),
    )
    with op.batch_alter_table("participation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_participation_annotator_id"), ["annotator_id"], unique=False)

    op.create_table(
        "qualification",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_qualification_annotator_id_annotator")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_qualification_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qualification")),
        sa.UniqueConstraint("campaign_id", "annotator_id", name=op.f("uq_qualification_campaign_id_annotator_id")),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("batch_id", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("group", sa.String(), nullable=True),
        sa.Column("annotator_id", sa.Integer(), nullable=True),
        sa.Column("participation_id", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.CheckConstraint("(status = 'open') = (annotator_id IS NULL)", name=op.f("ck_assignment_holder")),
        sa.ForeignKeyConstraint(["annotator_id"], ["annotator.id"], name=op.f("fk_assignment_annotator_id_annotator")),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batch.id"], name=op.f("fk_assignment_batch_id_batch"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_assignment_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["participation_id"], ["participation.id"], name=op.f("fk_assignment_participation_id_participation")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment")),
    )
    with op.batch_alter_table("assignment", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_assignment_annotator_id"), ["annotator_id"], unique=False)
        batch_op.create_index(
            "ix_assignment_campaign_status", ["campaign_id", "status", "lease_expires_at"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_assignment_participation_id"), ["participation_id"], unique=False)
        batch_op.create_index(
            "uq_assignment_annotator",
            ["batch_id", "annotator_id"],
            unique=True,
            sqlite_where=sa.text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
            postgresql_where=sa.text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
        )
        batch_op.create_index(
            "uq_assignment_current",
            ["batch_id", "slot", "repeat"],
            unique=True,
            sqlite_where=sa.text("status NOT IN ('returned', 'expired', 'rejected')"),
            postgresql_where=sa.text("status NOT IN ('returned', 'expired', 'rejected')"),
        )

    op.create_table(
        "batch_item",
        sa.Column("batch_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("check_name", sa.String(), nullable=True),
        sa.CheckConstraint("role IN ('regular', 'attention', 'gold', 'tutorial')", name=op.f("ck_batch_item_role")),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batch.id"], name=op.f("fk_batch_item_batch_id_batch"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_batch_item_item_id_item")),
        sa.PrimaryKeyConstraint("batch_id", "position", name=op.f("pk_batch_item")),
        sa.UniqueConstraint("batch_id", "item_id", name=op.f("uq_batch_item_batch_id_item_id")),
    )
    with op.batch_alter_table("batch_item", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_batch_item_item_id"), ["item_id"], unique=False)

    op.create_table(
        "output",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("example_id", sa.Integer(), nullable=False),
        sa.Column("system_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["example_id"], ["example.id"], name=op.f("fk_output_example_id_example"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["system_id"], ["system.id"], name=op.f("fk_output_system_id_system")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_output")),
        sa.UniqueConstraint("example_id", "system_id", name=op.f("uq_output_example_id_system_id")),
    )
    with op.batch_alter_table("output", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_output_system_id"), ["system_id"], unique=False)

    op.create_table(
        "source_text",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("example_id", sa.Integer(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["example_id"], ["example.id"], name=op.f("fk_source_text_example_id_example"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source_text")),
        sa.UniqueConstraint("example_id", "field", name=op.f("uq_source_text_example_id_field")),
    )
    op.create_table(
        "annotation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("request_sha256", sa.String(), nullable=True),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("extra", sa.JSON(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.CheckConstraint("status IN ('draft', 'complete')", name=op.f("ck_annotation_status")),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignment.id"],
            name=op.f("fk_annotation_assignment_id_assignment"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_annotation_item_id_item")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotation")),
        sa.UniqueConstraint("assignment_id", "item_id", name=op.f("uq_annotation_assignment_id_item_id")),
    )
    with op.batch_alter_table("annotation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_annotation_item_id"), ["item_id"], unique=False)

    op.create_table(
        "check_result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignment.id"],
            name=op.f("fk_check_result_assignment_id_assignment"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_check_result_item_id_item")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_result")),
        sa.UniqueConstraint(
            "assignment_id", "name", "item_id", name=op.f("uq_check_result_assignment_id_name_item_id")
        ),
    )
    op.create_table(
        "completion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("request_sha256", sa.String(length=64), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("response", sa.JSON(), nullable=True),
        sa.Column("model_version", sa.String(), nullable=True),
        sa.Column("finish_reason", sa.String(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("reasoning_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("latency", sa.Double(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["assignment.id"],
            name=op.f("fk_completion_assignment_id_assignment"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_completion_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_completion_item_id_item")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_completion")),
    )
    with op.batch_alter_table("completion", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_completion_assignment_id"), ["assignment_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_completion_campaign_id"), ["campaign_id"], unique=False)

    op.create_table(
        "item_output",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("output_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_item_output_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["output_id"], ["output.id"], name=op.f("fk_item_output_output_id_output")),
        sa.PrimaryKeyConstraint("item_id", "position", name=op.f("pk_item_output")),
    )
    with op.batch_alter_table("item_output", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_item_output_output_id"), ["output_id"], unique=False)

    op.create_table(
        "span",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("annotation_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("category_id", sa.Integer(), nullable=False),
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
        sa.Column("origin", sa.JSON(), nullable=True),
        sa.Column("resolved_start", sa.Integer(), nullable=True),
        sa.Column("resolved_end", sa.Integer(), nullable=True),
        sa.CheckConstraint("side IN ('output', 'source')", name=op.f("ck_span_side")),
        sa.CheckConstraint("0 <= start_offset AND start_offset <= end_offset", name=op.f("ck_span_offsets")),
        sa.ForeignKeyConstraint(
            ["annotation_id"], ["annotation.id"], name=op.f("fk_span_annotation_id_annotation"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["category_id"], ["category.id"], name=op.f("fk_span_category_id_category")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_span")),
    )
    with op.batch_alter_table("span", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_span_annotation_id"), ["annotation_id"], unique=False)

    op.create_table(
        "unplaced",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("annotation_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("record", sa.JSON(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotation_id"], ["annotation.id"], name=op.f("fk_unplaced_annotation_id_annotation"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_unplaced_campaign_id_campaign"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unplaced")),
    )
    with op.batch_alter_table("unplaced", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_unplaced_campaign_id"), ["campaign_id"], unique=False)

    op.create_table(
        "judged_span",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("span_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_judged_span_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["span_id"], ["span.id"], name=op.f("fk_judged_span_span_id_span")),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_judged_span")),
    )


def downgrade() -> None:
    op.drop_table("judged_span")
    with op.batch_alter_table("unplaced", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_unplaced_campaign_id"))

    op.drop_table("unplaced")
    with op.batch_alter_table("span", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_span_annotation_id"))

    op.drop_table("span")
    with op.batch_alter_table("item_output", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_item_output_output_id"))

    op.drop_table("item_output")
    with op.batch_alter_table("completion", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_completion_campaign_id"))
        batch_op.drop_index(batch_op.f("ix_completion_assignment_id"))

    op.drop_table("completion")
    op.drop_table("check_result")
    with op.batch_alter_table("annotation", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_annotation_item_id"))

    op.drop_table("annotation")
    op.drop_table("source_text")
    with op.batch_alter_table("output", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_output_system_id"))

    op.drop_table("output")
    with op.batch_alter_table("batch_item", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_batch_item_item_id"))

    op.drop_table("batch_item")
    with op.batch_alter_table("assignment", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_assignment_current",
            sqlite_where=sa.text("status NOT IN ('returned', 'expired', 'rejected')"),
            postgresql_where=sa.text("status NOT IN ('returned', 'expired', 'rejected')"),
        )
        batch_op.drop_index(
            "uq_assignment_annotator",
            sqlite_where=sa.text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
            postgresql_where=sa.text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
        )
        batch_op.drop_index(batch_op.f("ix_assignment_participation_id"))
        batch_op.drop_index("ix_assignment_campaign_status")
        batch_op.drop_index(batch_op.f("ix_assignment_annotator_id"))

    op.drop_table("assignment")
    op.drop_table("qualification")
    with op.batch_alter_table("participation", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_participation_annotator_id"))

    op.drop_table("participation")
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_item_campaign_id"))

    op.drop_table("item")
    op.drop_table("example")
    op.drop_table("category")
    op.drop_table("batch")
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_api_token_user_id"))

    op.drop_table("api_token")
    op.drop_table("user")
    op.drop_table("system")
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_job_state"))

    op.drop_table("job")
    op.drop_table("event")
    op.drop_table("dataset")
    op.drop_table("campaign")
    op.drop_table("annotator")
    op.drop_table("agreement_result")
