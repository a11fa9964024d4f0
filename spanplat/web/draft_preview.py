"""A preview of a draft: its campaign is made and taken back with each request, so that what is seen is what would be made."""

from flask import url_for
from flask_babel import gettext as _

from spanplat.services.drafts import find_draft, plan_draft
from spanplat.services.previews import store_batch
from spanplat.web.preview_pages import Subject, preview_blueprint
from spanplat.web.session import reading, try_out


def _draft(token: str) -> Subject:
    plan = plan_draft(reading(), find_draft(reading(), token))
    return Subject(
        plan.definition,
        len(plan.batches),
        back=url_for("drafts.show", token=token, step="review"),
        back_label=_("Back to the draft"),
        open=lambda batch: store_batch(try_out(), plan, batch),
    )


blueprint = preview_blueprint("draft_preview", "/admin/drafts/<token>/preview", access="researcher", find=_draft)
