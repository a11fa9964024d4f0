"""Reader of a factgenie campaign's settings, in both layouts of its files.

The published layout is a folder with ``config.yaml`` and ``annotations.jsonl``. The installed layout is ``campaigns/<id>`` with
``metadata.json``, ``db.csv`` and ``files/*.jsonl``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from spanplat.errors import InvalidInput
from spanplat.formats.json_lines import decode_json
from spanplat.schemas import yaml_documents
from spanplat.schemas.record import AnnotatorKind

Layout = Literal["published", "installed"]

_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\b")
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_GRANULARITIES: dict[str, Literal["word", "character"]] = {"words": "word", "chars": "character"}


@dataclass(frozen=True, slots=True)
class FactgenieCategory:
    """A span category; spans refer to it by its position in the campaign's list."""

    name: str
    description: str
    color: str
    """``#rrggbb``; empty if the file has no valid colour."""


@dataclass(frozen=True, slots=True)
class FactgenieCampaign:
    """Settings of a campaign; ``config`` contains also everything that has no field here."""

    folder: Path
    layout: Layout
    id: str
    mode: str | None
    """``crowdsourcing``, ``llm_eval``, ``llm_gen``, ``external`` or ``hidden``; None in the published layout."""
    status: str | None
    annotator_kind: AnnotatorKind
    categories: tuple[FactgenieCategory, ...]
    instructions: str | None
    prompt_template: str | None
    system_message: str | None
    model: str | None
    model_args: dict[str, Any]
    granularity: Literal["word", "character"] | None
    overlap_allowed: bool | None
    questions: dict[str, list[Any]] = field(default_factory=dict)
    """Definitions of ``flags``, ``options``, ``sliders`` and ``text_fields``, as written; empty ones left out."""
    config: dict[str, Any] = field(default_factory=dict)
    """The whole configuration as read."""

    @property
    def record_files(self) -> list[Path]:
        """The files with annotations, in the order of their names."""
        if self.layout == "published":
            return [self.folder / "annotations.jsonl"]
        return sorted((self.folder / "files").glob("*.jsonl"))

    def category(self, index: int | None) -> FactgenieCategory | None:
        """Return the category of a span's type; None if the type points outside the list."""
        return self.categories[index] if index is not None and 0 <= index < len(self.categories) else None


def find_factgenie_campaigns(folder: Path) -> Iterator[Path]:
    """Yield every campaign folder in a folder, or the folder itself, in the order of their paths."""
    for path in sorted([folder, *(below for below in folder.rglob("*") if below.is_dir())]):
        if _layout_of(path) is not None:
            yield path


def read_factgenie_campaign(folder: Path) -> FactgenieCampaign:
    """Read the settings of one campaign.

    Parameters
    ----------
    folder
        A published folder, or ``campaigns/<id>`` of an installation.

    Raises
    ------
    InvalidInput
        The folder has neither layout, or its settings are no readable mapping.
    """
    layout = _layout_of(folder)
    if layout is None:
        raise InvalidInput(
            f"{folder} is no factgenie campaign: "
            "expected config.yaml with annotations.jsonl, or metadata.json with a folder files."
        )
    if layout == "published":
        metadata: dict[str, Any] = {}
        config = _mapping(_read_yaml(folder / "config.yaml"), folder / "config.yaml")
    else:
        metadata = _mapping(_read_json(folder / "metadata.json"), folder / "metadata.json")
        config = _mapping(metadata.get("config") or {}, folder / "metadata.json")
    mode = metadata.get("mode")
    return FactgenieCampaign(
        folder=folder,
        layout=layout,
        id=str(metadata.get("id") or folder.name),
        mode=mode,
        status=metadata.get("status"),
        annotator_kind=_annotator_kind(mode, config),
        categories=tuple(_categories(config.get("annotation_span_categories") or [], folder)),
        instructions=config.get("annotator_instructions"),
        prompt_template=config.get("prompt_template"),
        system_message=config.get("system_msg"),
        model=config.get("model"),
        model_args=config.get("model_args") or {},
        granularity=_GRANULARITIES.get(str(config.get("annotation_granularity"))),
        overlap_allowed=config.get("annotation_overlap_allowed"),
        questions={kind: config[kind] for kind in ("flags", "options", "sliders", "text_fields") if config.get(kind)},
        config=config,
    )


def hex_color(color: Any) -> str:
    """Return a CSS colour (``rgb(…)``, ``rgba(…)``, ``#rgb``, ``#rrggbb``) as ``#rrggbb``; empty for other notations.

    >>> hex_color("rgb(214, 39, 40)"), hex_color("#ABC"), hex_color("tomato")
    ('#d62728', '#aabbcc', '')
    """
    text = str(color).strip()
    rgb = _RGB.match(text)
    if rgb:
        levels = [int(level) for level in rgb.groups()]
        return "#{:02x}{:02x}{:02x}".format(*levels) if max(levels) <= 255 else ""
    if _HEX.fullmatch(text):
        digits = text[1:].lower()
        return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    return ""


def _layout_of(folder: Path) -> Layout | None:
    if (folder / "config.yaml").is_file() and (folder / "annotations.jsonl").is_file():
        return "published"
    if (folder / "metadata.json").is_file() and (folder / "files").is_dir():
        return "installed"
    return None


def _annotator_kind(mode: Any, config: dict[str, Any]) -> AnnotatorKind:
    if mode == "crowdsourcing":
        return "human"
    # The published layout states no mode: a model or a prompt shows that a model annotated.
    return "llm" if mode in {"llm_eval", "llm_gen"} or config.get("model") or config.get("prompt_template") else "human"


def _categories(listed: Any, folder: Path) -> Iterator[FactgenieCategory]:
    for position, entry in enumerate(listed if isinstance(listed, list) else [listed]):
        if not isinstance(entry, dict) or not str(entry.get("name") or "").strip():
            raise InvalidInput(f"{folder}: category {position} of annotation_span_categories has no name.")
        description = str(entry.get("description") or "").strip()
        yield FactgenieCategory(str(entry["name"]).strip(), description, hex_color(entry.get("color")))


def _read_yaml(path: Path) -> Any:
    try:
        # factgenie writes with PyYAML, which follows YAML 1.1.
        return yaml_documents.load(path.read_text(encoding="utf-8-sig"), version=(1, 1))
    except (yaml_documents.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not YAML in UTF-8: {error}") from error


def _read_json(path: Path) -> Any:
    try:
        return decode_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise InvalidInput(f"{path} {error}") from error


def _mapping(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{path}: the settings are a {type(value).__name__}, not a mapping of names to values.")
    return value
