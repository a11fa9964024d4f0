"""What a consent form has to say is looked for by its usual words, in every language of the interface; elsewhere it is asked about."""

import pytest

from spanplat.platforms.consent import TOPICS, WORDS, topics_missed
from spanplat.platforms.rules import lint
from spanplat.schemas.definition import CampaignDefinition
from spanplat.web import locale

FORMS = {
    "en": {
        "collected": "We keep your marks for five years and publish them without your name.",
        "responsible": "The Department of Linguistics runs this study.",
        "contact": "Write to us: study at example dot org, or send an e-mail.",
        "time": "It takes ten minutes.",
        "pay": "You are paid two pounds.",
        "withdrawing": "You may withdraw whenever you like.",
    },
    "de": {
        "collected": "Wir speichern Ihre Markierungen fünf Jahre lang.",
        "responsible": "Verantwortlich ist der Lehrstuhl für Linguistik.",
        "contact": "Sie erreichen uns über das Formular der Plattform.",
        "time": "Es dauert zehn Minuten.",
        "pay": "Die Vergütung beträgt zwei Pfund.",
        "withdrawing": "Die Teilnahme ist freiwillig.",
    },
    "es": {
        "collected": "Guardamos lo que usted marca durante cinco años.",
        "responsible": "La responsable es la profesora García.",
        "contact": "Puede escribirnos por la plataforma.",
        "time": "Se tarda diez minutos.",
        "pay": "La recompensa son dos libras.",
        "withdrawing": "Puede retirarse cuando quiera.",
    },
    "cs": {
        "collected": "Shromažďujeme jen to, co označíte.",
        "responsible": "Studii pořádá katedra lingvistiky.",
        "contact": "Napište nám přes platformu.",
        "time": "Potrvá to čtvrt hodiny.",
        "pay": "Odměna jsou dvě libry.",
        "withdrawing": "Účast je dobrovolná.",
    },
    "ar": {
        "collected": "نحفظ ما تحدده لمدة خمس سنوات.",
        "responsible": "تجري هذه الدراسة جامعة القاهرة.",
        "contact": "للتواصل معنا استعمل المنصة.",
        "time": "تستغرق عشر دقائق.",
        "pay": "المكافأة جنيهان.",
        "withdrawing": "يمكنك الانسحاب متى شئت.",
    },
}


def test_every_language_of_the_interface_has_words_for_every_topic() -> None:
    assert set(WORDS) == set(FORMS) == set(locale.available())
    assert all(set(words) == set(TOPICS) for words in WORDS.values())


@pytest.mark.parametrize("language", FORMS)
def test_a_form_that_says_everything_misses_nothing_and_each_sentence_left_out_is_missed(language: str) -> None:
    form = FORMS[language]
    assert topics_missed(" ".join(form.values()), language) == []
    for topic in TOPICS:
        others = " ".join(sentence for other, sentence in form.items() if other != topic)
        assert topics_missed(others, f"{language}-XX") == [topic]


def test_what_is_missed_is_advised_and_never_refused() -> None:
    content = {
        "slug": "study",
        "title": "Study",
        "categories": [{"name": "Wrong"}],
        "data": {"dataset": "reports"},
        "guidelines": "Mark errors.",
        "consent": {"text": "Agree!"},
        "platform": {"service": "mturk"},
    }
    found = [finding for finding in lint(CampaignDefinition.model_validate(content)) if finding.path == "consent.text"]
    assert [finding.rule for finding in found] == ["consent-topics"] * len(TOPICS)
    assert {finding.weight for finding in found} == {"advise"}
    asked = lint(CampaignDefinition.model_validate(content | {"language": "ja"}))
    [unread] = [finding for finding in asked if finding.path == "consent.text"]
    assert all(said in unread.message for said in TOPICS.values())
    assert unread.weight == "advise"
