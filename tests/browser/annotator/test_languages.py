"""The annotator's pages use the language of the campaign."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import require_accessible
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

ENGLISH = "Enjoy views of the Hudson River from select suites."
ARABIC = "يقع الفندق على بعد 200 متر من نهر Hudson في وسط المدينة."
BOX = {"type": "no_errors", "label": "No errors"}
QUESTION = {"label": "What?", "options": ["Errors", "Names", "Nothing"], "answer": "Errors"}

# The buttons on the way, and what the page says: start, next, what is missing, saved, ready, submit, the end.
WORDS = {
    "cs": (
        "Začít", "Další", "Označte úsek textu, nebo zaškrtněte políčko.", "Uloženo", "Vše je hotovo.", "Odeslat", "Děkujeme",
    ),
    "de": (
        "Beginnen", "Weiter", "Markieren Sie eine Stelle oder kreuzen Sie das Kästchen an.", "Gespeichert", "Alles ist fertig.",
        "Abschicken", "Danke",
    ),
    "es": (
        "Empezar", "Siguiente", "Marque un fragmento o active la casilla.", "Guardado", "Todo está terminado.", "Enviar",
        "Gracias",
    ),
    "ar": ("ابدأ", "التالي", "علّم مقطعًا أو حدد المربع.", "تم الحفظ", "اكتمل كل شيء.", "إرسال", "شكرًا"),
}  # fmt: skip


@pytest.mark.parametrize("language", WORDS)
def test_a_batch_is_done_in_the_language_of_the_campaign_whatever_the_browser_prefers(
    annotator_in: AnnotatorIn, open_study: OpenStudy, language: str
) -> None:
    start, next_, missing, saved, ready, submit, thanks = WORDS[language]
    annotator = annotator_in(locale="en-US")
    page: Page = annotator.page
    page.goto(open_study(ENGLISH, language=language, questions=[BOX]))
    html = page.locator("html")
    expect(html).to_have_attribute("lang", language)
    expect(html).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
    page.get_by_role("button", name=start).click()
    page.get_by_role("button", name=next_).click()
    expect(page.locator("#message")).to_have_text(missing)
    annotator.mark("Hudson River")
    require_accessible(page)
    page.keyboard.press("?")
    require_accessible(page)
    page.keyboard.press("Escape")
    assert annotator.stored() == [("Hudson River", "incorrect")]
    expect(page.locator("#save-state")).to_have_text(saved)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text(ready)
    page.get_by_role("button", name=submit).click()
    expect(page.get_by_role("heading", name=thanks)).to_be_visible()


@pytest.mark.parametrize(("language", "said"), [("cs", "máte ještě 2 pokusy"), ("ar", "بقيت لك محاولتان")])
def test_numbers_come_with_the_right_form(
    annotator: Annotator, open_study: OpenStudy, language: str, said: str
) -> None:
    page = annotator.page
    page.goto(open_study(ENGLISH, language=language, comprehension={"questions": [QUESTION], "attempts": 3}))
    page.get_by_label("Names").check()
    page.locator("form button.primary").click()
    expect(page.get_by_role("alert")).to_contain_text(said)


def test_who_is_turned_away_is_told_so_in_the_campaigns_language(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.page
    page.goto(open_study(ENGLISH, language="de", annotators={"invited": ["somebody-else"]}))
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("heading")).to_have_text("Hier ist im Moment kein Platz für Sie")
    expect(page.locator("main")).to_contain_text("Diese Studie ist nur für Eingeladene, und Ihre Kennung steht nicht")


def test_from_right_to_left_the_page_is_mirrored_and_each_text_runs_its_own_way(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.page.goto(open_study(ARABIC, ENGLISH, language="ar", source="Riverside, 200 m"))
    page = annotator.page
    page.get_by_role("button", name="ابدأ").click()

    def left(selector: str) -> float:
        box = page.locator(selector).bounding_box()
        assert box is not None
        return box["x"]

    assert left("#source-pane") > left("#marking"), "the source stands where reading begins"
    assert left("#next") < left("#back")
    expect(annotator.text).to_have_css("direction", "rtl")
    annotator.mark("يقع الفندق")
    annotator.mark("وسط المدينة", "2")
    assert annotator.stored() == [("يقع الفندق", "incorrect"), ("وسط المدينة", "not-checkable")]
    page.keyboard.press("Control+Enter")
    expect(annotator.text).to_have_text(ENGLISH)
    expect(annotator.text).to_have_css("direction", "ltr")
    annotator.mark("Hudson River")
    assert annotator.stored(2) == [("Hudson River", "incorrect")]


def test_handles_stand_at_both_ends_of_latin_words_in_an_arabic_text(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.page.goto(open_study("يقع فندق DoubleTree by Hilton في وسط المدينة.", language="ar"))
    page = annotator.page
    page.get_by_role("button", name="ابدأ").click()
    annotator.mark("DoubleTree by Hilton")
    page.locator("#spans .quote").click()
    expect(page.locator(".handle.end")).to_be_visible()
    mark, start, end = (page.locator(place).bounding_box() for place in ("#text mark", ".handle.start", ".handle.end"))
    assert mark is not None
    assert start is not None
    assert end is not None
    assert abs(start["x"] - mark["x"]) < 4
    assert abs(end["x"] - mark["x"] - mark["width"]) < 4
