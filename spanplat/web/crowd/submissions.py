"""Validation of the saves that an annotator's page sends."""

from flask import request
from pydantic import ValidationError

from spanplat.errors import InvalidInput
from spanplat.schemas.submission import Submission


def read_submission() -> Submission:
    """Read and validate the body of a save.

    Raises
    ------
    InvalidInput
        If the body is not valid; the message names the first invalid place.
    """
    try:
        return Submission.model_validate_json(request.get_data())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise InvalidInput(f"{place}: {first['msg']}") from error
