"""How a campaign talks to a model: the question about an item, and what is made of the reply."""

from dataclasses import replace

from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.llm.item import AskedItem
from spanplat.llm.prompts import PromptInputs, render_prompt
from spanplat.llm.provider import Completion, Message, Request
from spanplat.llm.replies import Reading, read_reply
from spanplat.schemas.definition import CampaignDefinition


class Dialogue:
    """Asks as a campaign's definition says, and reads the replies as it says.

    Parameters
    ----------
    definition
        Of a model campaign.
    inputs
        What its prompts take from other campaigns.
    """

    def __init__(self, definition: CampaignDefinition, inputs: PromptInputs | None = None) -> None:
        self._definition = definition
        self._inputs = inputs or PromptInputs()
        self._settings = definition.model

    def request(self, item: AskedItem, repeat: int) -> Request:
        """Return the question about an item; the offline annotator needs no words.

        Parameters
        ----------
        item
            What is asked about.
        repeat
            Number of the repeat, from 0; a seed among the parameters grows with it, because the same seed gives the same reply; of a
            list of seeds each repeat takes its own.
        """
        if self._settings is None or self._settings.provider == "overlap":
            return Request(item)
        prompt = render_prompt(self._definition, item, self._inputs)
        system = [Message("system", prompt.system)] if prompt.system else []
        parameters = sent_parameters(self._settings)
        seed = parameters.get("seed")
        if isinstance(seed, list) and seed:
            parameters["seed"] = seed[repeat % len(seed)]
        elif isinstance(seed, int):
            parameters["seed"] = seed + repeat
        return Request(item, [*system, Message("user", prompt.user)], prompt.schema, parameters)

    def read(self, item: AskedItem, completion: Completion) -> Reading:
        """Read a reply.

        Raises
        ------
        UnreadableReply
            If it is no answer: the call has failed, and says nothing about the text.
        """
        refused = completion.finish_reason == "refusal"
        reading = read_reply(
            completion.text,
            self._definition,
            item,
            finish_reason=completion.finish_reason,
            reasoning=completion.reasoning,
            refusal=completion.text or "no reason given" if refused else None,
        )
        return replace(reading, answers={**reading.answers, **completion.answers})

    def settled(self, item: AskedItem) -> Reading | None:
        """Return what needs no asking: that a text has no error, where no member of an ensemble reports one; otherwise None."""
        if self._settings is None or not self._settings.consolidates or item.errors:
            return None
        reading = read_reply("No Error", self._definition, item)
        return replace(reading, remarks={**reading.remarks, "not_asked": "no member reports an error"})
