"""Parts of a definition about people: platform, signed links, consent, comprehension questions, qualification."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, HttpUrl, StringConstraints, field_validator, model_validator

from spanplat.platforms import PLATFORM_NAMES, find_platform
from spanplat.platforms.platform import ParameterNames, Platform
from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.questions import ChoiceQuestion
from spanplat.schemas.slug import Slug

if TYPE_CHECKING:
    PlatformName = str
else:
    # From the registry, so that each of its names is a choice in definitions and forms. mypy needs a static type instead.
    PlatformName = Literal[PLATFORM_NAMES]

Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{3,64}$")]


class CompletionCodes(Strict):
    """Codes that report the outcome to the platform; without a code the last page shows none."""

    completed: Code | None = None
    screened_out: Code | None = None
    failed_attention: Code | None = None
    no_consent: Code | None = None


class PlatformParameters(Strict):
    """Names of the query parameters by which a home-made pool identifies people."""

    person: str = "participant"
    study: str = "study"
    session: str = "session"


class SignedLinks(Strict):
    """Start links that the platform signs, so that nobody can come in under another person's id (a JSON Web Token, RS256)."""

    parameter: str = "prolific_token"
    """Query parameter that holds the token."""
    audience: str = Field(min_length=1)
    """Required audience of the token (claim ``aud``): the address of this server as the platform knows it."""
    keys_url: HttpUrl = HttpUrl("https://api.prolific.com/.well-known/study/jwks.json")
    """Address of the platform's published key set; read at most once a day."""
    keys: dict[str, Any] | None = None
    """A key set (JWKS) to use in place of the published one."""
    claim: str = "prolific"
    """Claim that repeats the ids of the link."""

    @field_validator("keys_url")
    @classmethod
    def _encrypted(cls, value: HttpUrl) -> HttpUrl:
        # Over plain HTTP an attacker could replace the keys on the way, and then sign links.
        if value.scheme != "https":
            raise ValueError("keys are read over https only")
        return value


class PlatformSettings(Strict):
    """The crowdsourcing platform of a campaign."""

    service: PlatformName = PLATFORM_NAMES[0]
    codes: CompletionCodes = CompletionCodes()
    parameters: PlatformParameters = PlatformParameters()
    """Used only if ``service`` is ``other``."""
    completion_url: HttpUrl | None = None
    """Address to which people go after submitting; ``{code}`` is replaced by the code. For Prolific it may stay empty."""
    ask_name: bool = False
    """Ask people who come through the campaign's open link for a name."""
    personal_links: bool = False
    """Only personal links let people in: spanplat campaign links SLUG --for NAME."""
    signed: SignedLinks | None = None
    """Let in only people whose link the platform has signed."""
    reward: str = ""
    """Reward per batch as shown to annotators, for instance ``£2.40``."""
    bonus: str = ""
    """Payment on top of the reward, as shown to annotators, for instance ``£0.50``. Everybody who submits earns it, unless they fail a
    check whose ``on_fail`` is ``withhold_bonus``, leave with the code for failed attention, or their work is replaced."""
    minutes: float | None = Field(default=None, gt=0)
    """Expected duration of a batch."""

    @property
    def profile(self) -> Platform:
        """Profile of the platform."""
        return find_platform(self.service)

    @property
    def parameter_names(self) -> ParameterNames:
        """Names of the query parameters in the definition."""
        return ParameterNames(self.parameters.person, self.parameters.study, self.parameters.session)


class Consent(Strict):
    """The consent form that annotators agree to before they see an item."""

    version: str = "1"
    text: str = Field(min_length=1)
    """Markdown: purpose, people responsible, duration, pay, use of the data, contact."""


class ComprehensionQuestion(ChoiceQuestion):
    """A question about the instructions, asked before the first item."""

    type: Literal["choice"] = "choice"
    answer: str
    """Key or label of the right option."""

    @model_validator(mode="after")
    def _answerable(self) -> "ComprehensionQuestion":
        if not any(self.answer in (option.key, option.label) for option in self.options):
            listed = ", ".join(option.key for option in self.options)
            refuse([(("answer",), f"the answer {self.answer!r} is not one of the options ({listed})")])
        return self


class Comprehension(Strict):
    """Comprehension questions; those who fail every attempt are asked to return the task, never rejected."""

    questions: list[ComprehensionQuestion] = Field(min_length=1)
    attempts: int = Field(default=2, ge=2, le=10)

    def is_passed_by(self, answers: Mapping[str, str]) -> bool:
        """Tell whether all answers (key of the option by key of the question) are correct."""
        return all(
            answers.get(question.key)
            # The definition may state the right option by its label; people always answer with a key.
            in {option.key for option in question.options if question.answer in (option.key, option.label)}
            for question in self.questions
        )


class QualificationRequired(Strict):
    """Only people who passed a qualification campaign, or who belong to a pool, may enter."""

    campaign: Slug | None = None
    pool: Slug | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "QualificationRequired":
        if (self.campaign is None) == (self.pool is None):
            message = "name either the qualification campaign or the pool whose people may enter"
            refuse([(("campaign" if self.campaign is None else "pool",), message)])
        return self


class QualificationGiven(Strict):
    """Rule by which a qualification campaign decides who passes."""

    measure: str = "char"
    """Any agreement measure; its main figure is the score."""
    hard: bool = True
    """Whether categories must match."""
    threshold: float | None = Field(default=0.5, ge=0, le=1)
    """Pass with a score above this."""
    top: int | None = Field(default=None, ge=1)
    """Maximum number of people who pass: the best, above the threshold if there is one. The decision is made on request."""
    reference: Slug | None = None
    """Campaign with the expected annotations, if the definition's gold checks do not state them."""
    attempts: int = Field(default=1, ge=1, le=10)
    """Number of tries of one person; the best score counts."""
    valid_days: int | None = Field(default=None, ge=1)
    """Number of days for which a pass counts."""
    pool: Slug | None = None
    """Those who pass join this pool."""
    pass_message: str = ""
    fail_message: str = ""
    pass_code: Code | None = None
    fail_code: Code | None = None

    @model_validator(mode="after")
    def _decidable(self) -> "QualificationGiven":
        if self.threshold is None and self.top is None:
            refuse([(("threshold",), "say who passes: threshold, top, or both")])
        return self
