"""Static files: one digest over the whole tree in every address, compressed once, cached by browsers for ever.

The digest stands in front of the path (``/static/<digest>/js/…``), so that modules import one another relatively and still change
their address together. Stylesheets that others import (``@import "./tokens.css";``) are put into them.
"""

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from flask import Flask
from whitenoise import WhiteNoise
from whitenoise.compress import Compressor

_KEPT_BUILDS = 3

_CSS_IMPORT = re.compile(r'^@import "\./(?P<path>[^"]+)";$', re.MULTILINE)


def init_app(app: Flask, source: Path, cache: Path) -> None:
    """Serve the files under ``source``, prepared in ``cache``, and give templates ``static_url``.

    Parameters
    ----------
    source
        Folder of the static files.
    cache
        Folder for compressed copies; made when missing, filled only when the files changed.
    """
    digest = tree_digest(source)
    folder = _prepare(source, cache, digest)
    prefix = f"/static/{digest}"
    app.wsgi_app = WhiteNoise(  # type: ignore[method-assign]
        app.wsgi_app,
        root=folder,
        prefix=prefix,
        allow_all_origins=False,
        immutable_file_test=lambda _path, _url: True,
        add_headers_function=lambda headers, _path, _url: headers.add_header("X-Content-Type-Options", "nosniff"),
    )

    def static_url(path: str) -> str:
        if not (folder / path).is_file():
            raise FileNotFoundError(f"no static file {path}")
        return f"{prefix}/{path}"

    app.jinja_env.globals["static_url"] = static_url


def tree_digest(folder: Path) -> str:
    """Digest the names and contents of all files of a folder, in order of their names."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix().encode()
        content = path.read_bytes()
        digest.update(b"%d %b %d " % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()[:16]


def _with_imports(stylesheet: Path) -> str:
    """Return a stylesheet with those it imports in their places, so that a page asks for one file."""
    text = stylesheet.read_text("utf-8")
    return _CSS_IMPORT.sub(lambda found: _with_imports(stylesheet.parent / found["path"]), text)


def _prepare(source: Path, cache: Path, digest: str) -> Path:
    """Copy and compress the tree unless that was done; several processes may do so at once, the first to rename wins."""
    folder = cache / digest
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="new-") as temporary:
        build = Path(temporary) / digest
        shutil.copytree(source, build)
        for stylesheet in sorted(build.rglob("*.css")):
            stylesheet.write_text(_with_imports(source / stylesheet.relative_to(build)), "utf-8")
        compressor = Compressor(quiet=True)
        for path in sorted(path for path in build.rglob("*") if path.is_file()):
            if compressor.should_compress(path.name):
                compressor.compress(str(path))
        try:
            build.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    os.utime(folder)  # the copy has the source's times; here its age counts
    _forget_old_builds(cache, folder)
    return folder


def _forget_old_builds(cache: Path, current: Path) -> None:
    """Remove all but the newest builds; a running older server may still need the one before."""
    builds = sorted(
        (path for path in cache.iterdir() if path != current and not path.name.startswith("new-")),
        key=lambda path: path.stat().st_mtime,
    )
    for build in builds[: 1 - _KEPT_BUILDS]:
        shutil.rmtree(build, ignore_errors=True)
