"""Where the files that ship with spanplat stand: at the top of a checkout, or inside the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_PACKAGED = _PACKAGE / "packaged"
_ROOT = _PACKAGED if _PACKAGED.is_dir() else _PACKAGE.parent

TEMPLATES = _ROOT / "templates"
STATIC = _ROOT / "static"
MIGRATIONS = _ROOT / "migrations"
CAMPAIGNS = _ROOT / "campaigns"
TRANSLATIONS = _PACKAGE / "translations"
