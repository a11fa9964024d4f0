"""Security headers of every response, and sessions that stay away from the annotator's addresses."""

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
        if frames:  # the older header knows no hosts
            del response.headers["X-Frame-Options"]
        if request.is_secure:
            hsts = StrictTransportSecurity().max_age(ONE_YEAR).include_subdomains()
            response.headers[hsts.header_name] = hsts.header_value
        if response.mimetype == "application/json" and "Content-Disposition" not in response.headers:
            # Data for programs: who opens the address in a browser gets a file, never a page.
            response.headers.set("Content-Disposition", "attachment", filename=_file_name(request.path))
        if "Cache-Control" not in response.headers:
            # Going back shows what a browser kept, without asking: an annotator would meet a form that was sent already.
            is_annotator = request.path.startswith(ANNOTATOR_PATHS)
            response.headers["Cache-Control"] = "no-store" if is_annotator else "private, no-cache"
        return response

    app.after_request(send)


def allow_images(hosts: Sequence[str]) -> None:
    """Let the page that answers the current request load images from these hosts too, over HTTPS."""
    g.image_hosts = tuple(hosts)


def allow_frames(origins: Sequence[str]) -> None:
    """Let these origins, and no others, show the page that answers the current request in a frame, and let its forms lead there."""
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
