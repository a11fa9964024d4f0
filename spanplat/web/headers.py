"""Security headers of every response, and session cookies for staff only."""

from collections.abc import Sequence

from flask import Flask, Request, g, request
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
"""Addresses of annotators. The token in the address is the only credential: no cookie is set, and no referrer reveals the token."""

ONE_YEAR = 365 * 24 * 3600


class StaffSessionInterface(SecureCookieSessionInterface):
    """Signed cookies for staff; none for annotators."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Open the session; on annotators' addresses it is a session that cannot be changed."""
        if request.path.startswith(ANNOTATOR_PATHS):
            return NullSession()
        return super().open_session(app, request)

    def get_cookie_secure(self, app: Flask) -> bool:
        """Mark the cookie as secure if the request is encrypted, even where the settings do not say so."""
        return request.is_secure or super().get_cookie_secure(app)


def init_app(app: Flask) -> None:
    """Send the headers with every response."""
    # Built once: they are the same for all requests, except on pages with images or frames of other hosts.
    staff, annotator = (
        list(_headers(referrer).headers.items())
        for referrer in (ReferrerPolicy().same_origin(), ReferrerPolicy().no_referrer())
    )

    def send(response: Response) -> Response:
        response.headers.extend(annotator if request.path.startswith(ANNOTATOR_PATHS) else staff)
        images, frames = g.get("image_hosts", ()), g.get("frame_origins", ())
        if images or frames:
            policy = _content_policy([f"https://{host}" for host in images], frames)
            response.headers[policy.header_name] = policy.header_value
        if frames:  # X-Frame-Options cannot name hosts; the content policy does
            del response.headers["X-Frame-Options"]
        # An unencrypted answer must not have this header (RFC 6797, section 7.2).
        if request.is_secure:
            hsts = StrictTransportSecurity().max_age(ONE_YEAR).include_subdomains()
            response.headers[hsts.header_name] = hsts.header_value
        if response.mimetype == "application/json" and "Content-Disposition" not in response.headers:
            # JSON is for programs. A browser that opens the address must save it and never show it as a page.
            response.headers.set("Content-Disposition", "attachment", filename=_file_name(request.path))
        if "Cache-Control" not in response.headers:
            # Browsers may show a stored page without a request after "back": an annotator would see a form that was already sent.
            is_annotator = request.path.startswith(ANNOTATOR_PATHS)
            response.headers["Cache-Control"] = "no-store" if is_annotator else "private, no-cache"
        return response

    app.after_request(send)


def allow_images(hosts: Sequence[str]) -> None:
    """Allow the page of the current request to load images from these hosts too, over HTTPS."""
    g.image_hosts = tuple(hosts)


def allow_frames(origins: Sequence[str]) -> None:
    """Allow only these origins to show the page of the current request in a frame, and allow its forms to be sent to them."""
    g.frame_origins = tuple(origins)


def _file_name(path: str) -> str:
    last = path.rpartition("/")[2]
    return last if last.endswith(".json") else "api.json"


def _content_policy(images: Sequence[str] = (), frames: Sequence[str] = ()) -> ContentSecurityPolicy:
    return (
        ContentSecurityPolicy()
        .default_src("'none'")
        .script_src("'self'")
        .style_src("'self'")
        # `data:`, because sources may contain embedded images (`spanplat.rendering.images`).
        .img_src("'self'", "data:", *images)
        .connect_src("'self'")
        .form_action("'self'", *frames)
        .frame_ancestors(*(frames or ["'none'"]))
        .base_uri("'none'")
    )


def _headers(referrer: ReferrerPolicy) -> Secure:
    return Secure(
        csp=_content_policy(),
        referrer=referrer,
        permissions=PermissionsPolicy().camera().geolocation().microphone().payment(),
        coop=CrossOriginOpenerPolicy().same_origin(),
        corp=CrossOriginResourcePolicy().same_origin(),
        xcto=XContentTypeOptions().nosniff(),
        xfo=XFrameOptions().deny(),
    )
