"""Amending a definition in the browser."""

import re
from html import unescape
from typing import Any

ADDRESS = "/admin/campaigns/demo-people/amend"


def text_of(page: str) -> str:
    found = re.search(r'name="text"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert found is not None
    return unescape(found[1])


def test_a_change_is_shown_put_in_force_and_listed(researcher: Any) -> None:
    text = re.sub("^title: .*", "title: Another title", text_of(researcher.get(ADDRESS).text), flags=re.MULTILINE)
    looked = researcher.post(ADDRESS, text=text, base="0", act="look")
    assert "<ins>+ title: Another title</ins>" in looked.text
    live = researcher.post(ADDRESS, htmx=True, text=text, base="0")
    assert "<code>title</code>" in live.text
    assert "<form" not in live.text
    done = researcher.post(ADDRESS, text=text, base="0", act="amend", note="a better name")
    assert (done.status_code, done.headers["Location"]) == (303, "/admin/campaigns/demo-people/definition")
    shown = researcher.get("/admin/campaigns/demo-people/definition").text
    assert "a better name" in shown
    assert "researcher@example.org" in shown


def test_what_is_refused_keeps_what_was_typed(researcher: Any) -> None:
    text = text_of(researcher.get(ADDRESS).text).replace("slug: demo-people", "slug: others")
    refused = researcher.post(ADDRESS, text=text, base="0", act="amend", note="as I like it")
    assert refused.status_code == 422
    assert "may not change after the launch" in refused.text
    assert "as I like it" in refused.text
    assert text_of(refused.text) == text
    broken = researcher.post(ADDRESS, text="a: [", base="0", act="amend", note="x")
    assert (broken.status_code, "not valid YAML" in broken.text) == (422, True)


def test_of_two_people_who_amend_at_once_the_second_is_told(researcher: Any) -> None:
    text = text_of(researcher.get(ADDRESS).text)
    for title, status in (("One", 303), ("Two", 409)):
        changed = re.sub("^title: .*", f"title: {title}", text, flags=re.MULTILINE)
        answer = researcher.post(ADDRESS, text=changed, base="0", act="amend", note="why not")
        assert answer.status_code == status
