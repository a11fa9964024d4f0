"""The definition of a prompt study: several presets or models on the same outputs, compared with a gold campaign."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from pydantic import Field, model_validator

from spanplat.schemas.assignment import DataSelection
from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.prompt_settings import Preset
from spanplat.schemas.protocols import FILLED, Protocol
from spanplat.schemas.slug import Slug, slugify

_OF_A_PRESET = ("prompt", "parts", "reply")
"""Settings of a preset, which are not valid for another preset."""
_OF_A_CAMPAIGN = ("taken", "prompt_sha256")
"""Settings that are written again when a campaign is created."""
_OF_A_PROTOCOL = FILLED
"""Settings of a protocol, which may differ for another protocol, provider or interface."""
_OF_A_MODEL = ("price", "category")
"""Settings of a model, which are not valid for another model."""
_OF_A_PROVIDER = ("base_url", "key_variable", "interface", "reply_format", "mode")
"""Settings of a provider, which are not valid for another provider."""


class StudyDefinition(Strict):
    """The variants of one model campaign that a prompt study compares.

    Raises
    ------
    pydantic.ValidationError
        For unknown keys, and where there are no variants or two of one name.
    """

    slug: Slug
    """The study's name; the campaigns of its variants are called ``<slug>-<variant>``."""
    title: str = Field(min_length=1, max_length=200)
    gold: Slug | None = None
    """Campaign whose annotations are right; without one the study compares nothing, and only asks and averages."""
    like: Slug
    """Model campaign that gives categories, guidelines, questions and all settings that a variant leaves open."""
    data: DataSelection | None = None
    """The outputs to compare on, in place of that campaign's."""
    presets: list[Preset] = []
    models: list[str] = []
    """Each preset is tried with each model; an empty list stands for the preset or the model of ``like``."""
    variants: dict[Slug, dict[str, Any]] = {}
    """Further variants by name: settings of the model in place of those of ``like``."""
    protocol: Protocol | None = None
    """A published protocol, for every variant that states none itself."""
    ensemble: bool = False
    """Whether the answers of all variants are combined when all have answered everything: in a campaign ``<slug>-ensemble``, scores
    are averaged over every repeat of every variant, and errors are merged."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that all calls of the study may cost."""

    @model_validator(mode="after")
    def _several(self) -> "StudyDefinition":
        # The names become slugs of campaigns, so they must differ.
        names = [name for name, _ in self._crossed()]
        if not names and not self.variants:
            raise ValueError("there is nothing to compare: list presets, models or variants")
        repeated = [name for name in names if names.count(name) > 1 or name in self.variants]
        if repeated:
            place = "variants" if repeated[0] in self.variants else "models" if self.models else "presets"
            refuse([((place,), f"two variants are called {repeated[0]!r}; list each preset and model once")])
        if self.ensemble and "ensemble" in (*names, *self.variants):
            message = "a variant is called 'ensemble', the name of the combined campaign; give it another name"
            refuse([(("variants",) if "ensemble" in self.variants else ("models",), message)])
        return self

    def settings(self, base: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the model settings of each variant by its name.

        Parameters
        ----------
        base
            Settings of ``like``. If a variant has another preset, model or provider, the settings that belong to it are left out.
        """
        common = {"protocol": self.protocol} if self.protocol else {}
        return {name: _changed(base, common | own) for name, own in (*self._crossed(), *self.variants.items())}

    def campaign(self, variant: str) -> str:
        """Return the name of a variant's campaign."""
        return f"{self.slug}-{variant}"

    @property
    def ensemble_campaign(self) -> str:
        """Name of the campaign that combines all variants."""
        return f"{self.slug}-ensemble"

    def _crossed(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each combination of preset and model, named by the parts in which it differs from the others."""
        by_preset: list[tuple[str, dict[str, Any]]] = [(name, {"preset": name}) for name in self.presets]
        by_model: list[tuple[str, dict[str, Any]]] = [(slugify(name), {"model": name}) for name in self.models]
        if len(by_model) < 2 and by_preset:
            for name, own in by_preset:
                yield name, own | (by_model[0][1] if by_model else {})
        elif len(by_preset) < 2:
            for name, own in by_model:
                yield name, own | (by_preset[0][1] if by_preset else {})
        else:
            for (preset, one), (model, other) in product(by_preset, by_model):
                yield f"{preset}-{model}", one | other


def _changed(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    left_out: set[str] = set(_OF_A_CAMPAIGN)
    if own.get("preset", base.get("preset")) != base.get("preset"):
        left_out |= {*_OF_A_PRESET, "consolidates"}
    if any(own.get(name, base.get(name)) != base.get(name) for name in ("provider", "model", "base_url")):
        left_out |= set(_OF_A_MODEL)
    if own.get("provider", base.get("provider")) != base.get("provider"):
        left_out |= set(_OF_A_PROVIDER)
    protocols = (base.get("protocol"), own.get("protocol", base.get("protocol")))
    if protocols[0] != protocols[1] or (
        protocols[1] and any(own.get(name, base.get(name)) != base.get(name) for name in ("provider", "interface"))
    ):
        left_out |= set(_OF_A_PROTOCOL)
    return {name: value for name, value in base.items() if name not in left_out} | dict(own)
