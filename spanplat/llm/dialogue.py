"""Dialogue of a campaign with a model: the request about an item, and the parsed reply."""

from dataclasses import replace

from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.llm.item import AskedItem
from spanplat.llm.prompts import PromptInputs, render_prompt
from spanplat.llm.provider import Message, ModelReply, Request
from spanplat.llm.replies import ParsedReply, read_reply
from spanplat.schemas.definition import CampaignDefinition


class Dialogue:
    """Make requests and read replies by the definition of a campaign.

    Parameters
    ----------
    definition
        Definition of a model campaign.
    inputs
        Prompt inputs from other campaigns.
    """

    def __init__(self, definition: CampaignDefinition, inputs: PromptInputs | None = None) -> None:
        self._definition = definition
        self._inputs = inputs or PromptInputs()
        self._settings = definition.model

    def request(self, item: AskedItem, repeat: int) -> Request:
        """Return the request about an item. For the offline annotator it has no messages.

        Parameters
        ----------
        item
            The item.
        repeat
            Number of the repeat, from 0. It is added to a seed, because the same seed gives the same reply. From a list of seeds, each
            repeat takes its own.
        """
        if self._settings is None or self._settings.is_offline:
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

    def read(self, item: AskedItem, reply: ModelReply) -> ParsedReply:
        """Read a reply.

        Raises
        ------
        UnreadableReply
            If it is not an answer. Then the call has failed, and nothing is known about the text.
        """
        refused = reply.finish_reason == "refusal"
        reading = read_reply(
            reply.text,
            self._definition,
            item,
            finish_reason=reply.finish_reason,
            reasoning=reply.reasoning,
            refusal=reply.text or "no reason given" if refused else None,
        )
        # Answers that are not in the text of the reply, such as the share that the offline annotator computes.
        return replace(reading, answers={**reading.answers, **reply.answers})

    def answer_without_asking(self, item: AskedItem) -> ParsedReply | None:
        """Return the answer "no error" if no member of the ensemble reports one to the consolidator, otherwise None."""
        if self._settings is None or not self._settings.consolidates or item.errors:
            return None
        # Read like a reply, so that the item gets the same answers and remarks as after a call.
        reading = read_reply("No Error", self._definition, item)
        return replace(reading, remarks={**reading.remarks, "not_asked": "no member reports an error"})
