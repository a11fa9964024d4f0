"""What a generation asks about an example, and what it makes of the reply."""

from dataclasses import dataclass

from spanplat.errors import InvalidInput
from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.llm.item import AskedItem
from spanplat.llm.prompts.library import part_source
from spanplat.llm.prompts.templates import render_template
from spanplat.llm.prompts.variables import source_as_text
from spanplat.llm.provider import Completion, Message, Request
from spanplat.llm.replies.reasoning import separate_reasoning
from spanplat.llm.replies.storable import storable_text
from spanplat.models import Example
from spanplat.schemas.generation import GenerationDefinition


@dataclass(frozen=True)
class Written:
    """What became of a reply: a text, or the reason why there is none."""

    text: str = ""
    problem: str | None = None


def ask_for(definition: GenerationDefinition, example: Example) -> Request:
    """Return the request for the output of one example.

    Raises
    ------
    InvalidInput
        If the prompt's template is wrong: where, and what.
    """
    settings = definition.model
    variables = {
        "source": example.source,
        "source_text": source_as_text(example.source),
        "dataset": definition.dataset,
        "split": example.split,
        "key": example.key,
    }
    prompt = render_template("model.prompt", settings.prompt or "", part_source, variables)
    if not prompt.strip():
        raise InvalidInput(f"the prompt about example {example.split}/{example.key} is empty; check model.prompt")
    messages = [Message("user", prompt)]
    if settings.system_message:
        messages.insert(0, Message("system", settings.system_message))
    if definition.beginning:
        messages.append(Message("assistant", definition.beginning))
    return Request(AskedItem([""], example.source), messages, None, sent_parameters(settings))


def read_text(definition: GenerationDefinition, completion: Completion) -> Written:
    """Return the output that a reply makes: as it stands, without reasoning, with the forced beginning in front.

    A reply cut short by the limit of tokens is an output all the same; a refusal and an empty reply are none.
    """
    if completion.finish_reason == "refusal":
        return Written(problem=f"refused: {completion.text[:200] or 'no reason given'}")
    parted = separate_reasoning(completion.text)
    reply = parted.answer if parted.reasoning or parted.unclosed else completion.text
    if not reply.strip():
        return Written(problem="the reply is empty")
    text = reply if reply.startswith(definition.beginning) else definition.beginning + reply
    return Written(storable_text(text.replace("\r\n", "\n")))
