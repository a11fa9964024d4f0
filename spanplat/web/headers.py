"""Security headers of every response, and sessions that stay away from the annotator's addresses."""

from flask import Flask, Request, request
from flask.sessions import NullSession, SecureCookieSession, SecureCookieSessionInterface
from secure import Secure
from secure.headers import (
    ContentSecurityPolicy,
    CrossOriginOpenerPolicy,
    CrossOriginResourcePolicy,
    PermissionsPolicy,
    ReferrerPolicy,
    StrictTransportSecurity,
    XContentTypeOptions,
    XFrameOptions,
)
from werkzeug.wrappers import Response

ANNOTATOR_PATHS = ("/a/", "/c/")
"""There the token in the address is the only credential: no cookie is set, and no referrer tells the token to anybody."""

ONE_YEAR = 365 * 24 * 3600


class StaffSessionInterface(SecureCookieSessionInterface):
    """Signed cookies for staff; none for annotators."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Open the session, one that refuses to be written on the annotator's addresses."""
        if request.path.startswith(ANNOTATOR_PATHS):
            return NullSession()
        return super().open_session(app, request)

    def get_cookie_secure(self, app: Flask) -> bool:
        """Mark the cookie for encrypted connections only, whenever it is sent over one."""
        return request.is_secure or super().get_cookie_secure(app)


def init_app(app: Flask) -> None:
    """Send the headers with every response."""
    staff, annotator = _headers(ReferrerPolicy().same_origin()), _headers(ReferrerPolicy().no_referrer())

    def send(response: Response) -> Response:
        (annotator if request.path.startswith(ANNOTATOR_PATHS) else staff).set_headers(response)
        if request.is_secure:
            hsts = StrictTransportSecurity().max_age(ONE_YEAR)
            response.headers[hsts.header_name] = hsts.header_value
        if "Cache-Control" not in response.headers:
            response.headers["Cache-Control"] = "private, no-cache"
        return response

    app.after_request(send)


def _headers(referrer: ReferrerPolicy) -> Secure:
    content = (
        ContentSecurityPolicy()
        .default_src("'none'")
        .script_src("'self'")
        .style_src("'self'")
        .img_src("'self'", "data:")
        .connect_src("'self'")
        .form_action("'self'")
        .frame_ancestors("'none'")
        .base_uri("'none'")
    )
    return Secure(
        csp=content,
        referrer=referrer,
        permissions=PermissionsPolicy().camera().geolocation().microphone().payment(),
        coop=CrossOriginOpenerPolicy().same_origin(),
        corp=CrossOriginResourcePolicy().same_origin(),
        xcto=XContentTypeOptions().nosniff(),
        xfo=XFrameOptions().deny(),
    )
