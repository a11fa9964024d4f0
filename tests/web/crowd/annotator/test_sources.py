"""Items have their stored and rendered sources; charts and images follow the campaign's settings."""

from collections.abc import Callable

from flask.testing import FlaskClient

FORECAST = [{"date": f"2026-03-{day:02}", "rain": day / 2} for day in range(1, 6)]


def test_an_item_has_its_source_raw_and_rendered_and_the_page_has_it_rendered(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(
        source={"name": "<b>Ravna</b>", "secret": 7}, data={"dataset": "reports", "source": {"hide": ["secret"]}}
    )
    address = arrive()
    item = client.get(f"{address}/items/1").get_json()
    assert item["source"] == {"name": "<b>Ravna</b>", "secret": 7}
    assert "&lt;b&gt;Ravna&lt;/b&gt;" in item["source_html"]
    assert "secret" not in item["source_html"]
    page = client.get(address).text
    assert item["source_html"] in page
    assert "secret" not in page


def test_a_source_is_named_in_the_language_of_the_campaign_whatever_the_browser_speaks(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    rows = [["Ravna", "lies in", "Selovia"], ["Ravna", "has", "a harbour"]]
    open_study(
        source=rows,
        language="de",
        practice=[{"item": {"split": "test", "example": "0", "system": "alder"}, "golds": [[]]}],
        worked_examples=[{"text": "It rains.", "source": rows}],
        batches={"regular": 1},
    )
    browser = {"Accept-Language": "es"}
    address = arrive()

    def speaks_german(shown: str) -> bool:
        return 'aria-label="Tabelle"' in shown and 'aria-label="Tab' not in shown.replace("Tabelle", "")

    practice = f"{address}/practice/1"
    assert speaks_german(client.get(address, headers=browser).text)
    assert speaks_german(client.get(f"{practice}/items/1", headers=browser).get_json()["source_html"])
    client.put(f"{practice}/items/1", json={"revision": 0, "status": "complete"})
    client.post(f"{practice}/submit")
    client.post(f"{practice}/continue")
    assert speaks_german(client.get(address, headers=browser).text)
    assert speaks_german(client.get(f"{address}/items/1", headers=browser).get_json()["source_html"])


def test_the_charts_of_a_source_are_drawn_at_their_numbers(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(source={"forecast": FORECAST})
    address = arrive()
    chart = client.get(f"{address}/items/1/charts/0")
    assert (chart.status_code, chart.mimetype) == (200, "image/svg+xml")
    assert "<title>2026-03-01: rain 0.5</title>" in chart.text
    assert " style=" not in chart.text
    again = client.get(f"{address}/items/1/charts/0", headers={"If-None-Match": chart.headers["ETag"]})
    assert again.status_code == 304
    assert client.get(f"{address}/items/1/charts/1").status_code == 404
    assert client.get(f"{address}/items/9/charts/0").status_code == 404


def test_a_practice_item_has_its_charts_and_those_of_the_worked_examples_beside_it(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    rain = [{"date": f"2026-04-{day:02}", "rain": day / 4} for day in range(1, 6)]
    item = {"split": "test", "example": "0", "system": "alder"}
    open_study(
        source={"forecast": FORECAST},
        worked_examples=[{"text": "It rains more every day.", "source": {"forecast": rain}}],
        practice=[{"item": item, "golds": [[]]}],
        batches={"regular": 1},
    )
    address = arrive()
    practice = f"{address}/practice/1"
    assert f'data-charts="{practice}/examples/0/charts"' in client.get(address).text
    for chart, title in (("items/1", "2026-03-01: rain 0.5"), ("examples/0", "2026-04-01: rain 0.25")):
        assert f"<title>{title}</title>" in client.get(f"{practice}/{chart}/charts/0").text
        assert client.get(f"{practice}/{chart}/charts/1").status_code == 404
    assert client.get(f"{address}/practice/2/items/1/charts/0").status_code == 410


def test_only_pages_of_a_campaign_with_image_hosts_may_load_from_them(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(data={"dataset": "reports", "source": {"image_hosts": ["*.example.org"]}})
    address = arrive()
    policy = client.get(address).headers["Content-Security-Policy"]
    assert "img-src 'self' data: https://*.example.org;" in policy
    assert "script-src 'self';" in policy
    assert "example.org" not in client.get(f"{address}/items").headers["Content-Security-Policy"]


def test_the_charts_of_worked_examples_are_drawn_wherever_the_instructions_are_read(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    example = {"text": "It rains more every day.", "source": {"forecast": FORECAST}}
    open_study(worked_examples=[example], platform={"service": "mturk"})
    for address in (arrive(workerId="ann", hitId="hit", assignmentId="as1"), "/c/study"):
        chart = client.get(f"{address}/examples/0/charts/0")
        assert "<title>2026-03-01: rain 0.5</title>" in chart.text
        assert client.get(f"{address}/examples/0/charts/1").status_code == 404
        assert client.get(f"{address}/examples/1/charts/0").status_code == 404
    preview = client.get("/c/study/start?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h")
    assert 'data-charts="/c/study/examples/0/charts"' in preview.text


def test_without_a_preview_of_the_task_nothing_of_its_examples_is_public(
    client: FlaskClient, open_study: Callable[..., None]
) -> None:
    open_study(worked_examples=[{"text": "It rains more every day.", "source": {"forecast": FORECAST}}])
    assert client.get("/c/study/examples/0/charts/0").status_code == 404
