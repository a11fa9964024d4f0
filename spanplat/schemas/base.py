"""The base of every shape at a boundary: unknown keys are errors, values never change once validated."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen shape that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
