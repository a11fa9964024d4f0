"""Preview of a campaign in any state."""

from flask import url_for
from flask_babel import gettext as _

from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.previews import count_shown
from spanplat.web.crowd.preview_pages import Subject, preview_blueprint
from spanplat.web.session import reading


def _campaign(slug: str) -> Subject:
    campaign = find_campaign(reading(), slug)
    return Subject(
        definition_of(campaign),
        count_shown(reading(), campaign),
        back=url_for("campaigns.show", slug=slug),
        back_label=_("Back to the campaign"),
        open=lambda _batch: campaign,
    )


blueprint = preview_blueprint("preview", "/admin/campaigns/<slug>/preview", access="viewer", find=_campaign)
