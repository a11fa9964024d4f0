"""Preview of a draft. Each request makes the campaign and rolls it back, so the preview shows exactly what would be made."""

from flask import url_for
from flask_babel import gettext as _

from spanplat.services.campaigns.drafts import find_draft, plan_draft
from spanplat.services.crowd.previews import store_batch
from spanplat.web.crowd.preview_pages import Subject, preview_blueprint
from spanplat.web.session import reading, try_out


def _draft(token: str) -> Subject:
    # Planned from the snapshot first, because the trial holds the write lock until the request ends.
    plan = plan_draft(reading(), find_draft(reading(), token))
    return Subject(
        plan.definition,
        len(plan.batches),
        back=url_for("drafts.show", token=token, step="review"),
        back_label=_("Back to the draft"),
        open=lambda batch: store_batch(try_out(), plan, batch),
    )


blueprint = preview_blueprint("draft_preview", "/admin/drafts/<token>/preview", access="researcher", find=_draft)
