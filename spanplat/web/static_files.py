"""Static files: compressed once, and cached by browsers for ever under an address with the digest of all files.

The digest comes before the path (``/static/<digest>/js/…``). So modules can import each other by relative paths, and all addresses
change together. An imported stylesheet (``@import "./tokens.css";``) is copied into the one that imports it.
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
    """Serve the files under ``source`` and give ``static_url`` to the templates.

    Parameters
    ----------
    source
        Folder of the static files.
    cache
        Folder for compressed copies. It is created if it is missing, and filled only if the files changed.
    """
    digest = tree_digest(source)
    folder = _prepare(source, cache, digest)
    prefix = f"/static/{digest}"
    app.wsgi_app = WhiteNoise(  # type: ignore[method-assign]
        app.wsgi_app,
        root=folder,
        prefix=prefix,
        allow_all_origins=False,  # WhiteNoise would send `Access-Control-Allow-Origin: *`
        # Every address contains the digest of the files, so what it names never changes.
        immutable_file_test=lambda _path, _url: True,
        # WhiteNoise answers before Flask, so the headers of `spanplat.web.headers` do not reach these files.
        add_headers_function=lambda headers, _path, _url: headers.add_header("X-Content-Type-Options", "nosniff"),
    )

    def static_url(path: str) -> str:
        if not (folder / path).is_file():
            raise FileNotFoundError(f"no static file {path}")
        return f"{prefix}/{path}"

    app.jinja_env.globals["static_url"] = static_url


def tree_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all files of a folder, in order of their names."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix().encode()
        content = path.read_bytes()
        # With the lengths, no two different trees give the same bytes.
        digest.update(b"%d %b %d " % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()[:16]


def _with_imports(stylesheet: Path) -> str:
    """Return a stylesheet with its imports replaced by their contents, so that a page requests one file."""
    text = stylesheet.read_text("utf-8")
    return _CSS_IMPORT.sub(lambda found: _with_imports(stylesheet.parent / found["path"]), text)


def _prepare(source: Path, cache: Path, digest: str) -> Path:
    """Copy and compress the tree, unless a copy exists. Several processes may do so at once; the first to rename its copy wins."""
    folder = cache / digest
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    # Inside the cache, because a rename must stay within one file system.
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
            if not folder.is_dir():  # the error is another one than "another process was first"
                raise
    os.utime(folder)  # copytree keeps the times of the source, but old builds are found by their age
    _forget_old_builds(cache, folder)
    return folder


def _forget_old_builds(cache: Path, current: Path) -> None:
    """Remove all but the newest builds. A server of an older version may still run and need its own."""
    builds = sorted(
        (path for path in cache.iterdir() if path != current and not path.name.startswith("new-")),
        key=lambda path: path.stat().st_mtime,
    )
    # The current build, which is not in the list, counts as one of the kept ones.
    for build in builds[: 1 - _KEPT_BUILDS]:
        shutil.rmtree(build, ignore_errors=True)
