"""Health check for load balancers and supervisors."""

from flask import Blueprint, Response, jsonify
from sqlalchemy import text

from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
@policy("public")
def healthz() -> Response:
    """Answer 200 if the database answers, else 503."""
    reading().execute(text("SELECT 1"))
    return jsonify(status="ok")
