"""Page of the user's second factor: set-up, recovery codes and turning it off."""

import segno
from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask_login import current_user
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput
from spanplat.services.accounts.second_factor import (
    begin_enrolment,
    confirm_enrolment,
    confirmed_at,
    open_enrolment,
    recovery_codes_left,
    renew_recovery_codes,
    turn_off,
)
from spanplat.web.accounts.account import require_session
from spanplat.web.accounts.sign_in import renew_session
from spanplat.web.limits import limit_sign_in
from spanplat.web.policy import is_second_factor_required, policy
from spanplat.web.session import database, transaction

blueprint = Blueprint("second_factor", __name__, url_prefix="/admin/account/second-factor")
blueprint.before_request(require_session)


@blueprint.get("")
@policy("viewer")
def show() -> Response:
    """Show whether the second factor is on, or the key for the app."""
    return _page()


@blueprint.post("")
@policy("viewer")
@limit_sign_in
def begin() -> AnyResponse:
    """Create a key for an authenticator app."""
    try:
        with transaction() as session:
            begin_enrolment(session, current_user.id, request.form.get("password", ""))
    except InvalidInput as error:
        return _page(problem=str(error))
    return redirect(url_for("second_factor.show"), 303)


@blueprint.post("/confirm")
@policy("viewer")
@limit_sign_in
def confirm() -> Response:
    """Turn the second factor on with the app's first code, and show the recovery codes once."""
    try:
        with transaction() as session:
            user, codes = confirm_enrolment(session, current_user.id, request.form.get("code", ""))
    except InvalidInput as error:
        return _page(problem=str(error))
    renew_session(user)
    return _page(codes=codes)


@blueprint.post("/recovery-codes")
@policy("viewer")
@limit_sign_in
def renew() -> Response:
    """Create new recovery codes and show them once."""
    try:
        with transaction() as session:
            codes = renew_recovery_codes(session, current_user.id, request.form.get("password", ""))
    except InvalidInput as error:
        return _page(problem=str(error))
    return _page(codes=codes)


@blueprint.post("/off")
@policy("viewer")
@limit_sign_in
def off() -> AnyResponse:
    """Turn the second factor off, or cancel its set-up."""
    try:
        with transaction() as session:
            turn_off(session, current_user.id, request.form.get("password", ""))
    except InvalidInput as error:
        return _page(problem=str(error))
    return redirect(url_for("second_factor.show"), 303)


def _page(*, problem: str = "", codes: list[str] | None = None) -> Response:
    with database().reading() as session:  # the request's snapshot may be older than its own write
        enrolment = open_enrolment(session, current_user.id)
        page = render_template(
            "second_factor.html",
            since=confirmed_at(session, current_user.id),
            left=recovery_codes_left(session, current_user.id),
            enrolment=enrolment,
            qr_code=_qr_code(enrolment.uri) if enrolment is not None else "",
            codes=codes,
            problem=problem,
            is_required=is_second_factor_required(),
        )
    response = make_response(page, 422 if problem else 200)
    response.headers["Cache-Control"] = "no-store"  # it may hold the key or the codes
    return response


def _qr_code(uri: str) -> Markup:
    """Draw a QR code as SVG. It is dark on light in every theme, because some cameras cannot read the opposite."""
    drawn = segno.make_qr(uri).svg_inline(
        scale=5, border=4, dark="#000", light="#fff", svgclass="qr-code", lineclass=None
    )
    return Markup(drawn)  # noqa: S704 (made of numbers and the colours above)
