"""Researchers' pages are English throughout; annotators' pages are translated."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    "path", ["/", "/admin/campaigns/demo-people", "/admin/campaigns/demo-people/preview/1/ar/everybody"]
)
def test_a_page_is_never_half_translated(viewer: Any, path: str) -> None:
    page = viewer.get(path, Accept_Language="cs").text
    if path.endswith("everybody"):
        assert '<html lang="ar" dir="rtl">' in page
        assert "Nothing you do here is stored." in page, "the bar is the researcher's"
    else:
        assert '<html lang="en">' in page
        assert "Zpět" not in page
        assert "Kategorie" not in page
