"""The commands ``campaign prompt`` and ``campaign protocols``: show prompts, presets and published protocols."""

import json

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.llm.prompts.library import PRESETS, preset_summary
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.protocols import PROTOCOLS, protocol_summary
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.prompt_inputs import InputsState, inputs_state
from spanplat.services.model_work.previews import PromptPreview, preview_prompt


@click.command("prompt")
@click.argument("slug", required=False)
@click.option("--item", "number", type=click.IntRange(1), default=1, show_default=True, help="Number of the item.")
@json_option
def prompt(*, slug: str | None, number: int, as_json: bool) -> None:
    """Print the prompt of a model campaign about one item, with its length and price; without SLUG, list the presets."""
    if slug is None:
        rows = [(preset, preset_summary(preset)) for preset in PRESETS]
        if as_json:
            print_json([{"preset": preset, "summary": summary} for preset, summary in rows])
        else:
            print_table(("preset", "what it asks for"), rows)
        return
    with open_database() as database, database.reading() as session:
        preview = preview_prompt(session, slug, number)
        definition = definition_of(find_campaign(session, slug))
        state = inputs_state(session, definition)
    sent = sent_parameters(definition.model) if definition.model else {}
    if as_json:
        print_json({**_document(preview), "parameters": sent, "inputs": state})
        return
    if preview.prompt.system:
        click.echo(f"{preview.prompt.system}\n")
    click.echo(preview.prompt.user)
    note(f"\nItem {preview.number} of {preview.items}: {preview.example}, {' and '.join(preview.systems)}.")
    guess = preview.estimate
    money = "its price is not known" if guess.cost is None else f"about {guess.cost:.5f} US dollars"
    if sent:
        note(f"Sent beside it: {json.dumps(sent)}")
    tell_inputs(definition, state)
    note(f"About {guess.input_tokens} tokens to read and {guess.output_tokens} to write: {money}.")
    note(f"SHA-256 of this prompt: {preview.prompt.sha256}. The whole campaign: spanplat campaign run {slug} --dry-run")


@click.command("protocols")
@json_option
def protocols(as_json: bool) -> None:
    """List the published protocols that a definition may name (model.protocol), and a study for several models at once."""
    rows = [(name, protocol_summary(name)) for name in PROTOCOLS]
    if as_json:
        print_json([{"protocol": name, "summary": summary} for name, summary in rows])
    else:
        print_table(("protocol", "how models are asked"), rows)


def tell_inputs(definition: CampaignDefinition, state: InputsState) -> None:
    """Print a note if a model gets other instructions than people do, or the present state of another campaign."""
    settings = definition.model
    if settings is None or state == "same":
        return
    if state == "changed":
        note(
            f"People in {settings.instructions_from} read other instructions by now; "
            "this model is asked with those of when the campaign was created."
        )
        return
    named = ", ".join(dict.fromkeys(slug for slug in (settings.instructions_from, settings.examples_from) if slug))
    note(
        f"Nothing was kept of {named} when this campaign was created: the model is asked with what stands there now. "
        f"A clone keeps it: spanplat campaign clone {definition.slug} NEW"
    )


def _document(preview: PromptPreview) -> dict[str, object]:
    return {
        "item": preview.number,
        "items": preview.items,
        "example": preview.example,
        "systems": list(preview.systems),
        "system_message": preview.prompt.system,
        "prompt": preview.prompt.user,
        "schema": preview.prompt.schema,
        "sha256": preview.prompt.sha256,
        "input_tokens": preview.estimate.input_tokens,
        "output_tokens": preview.estimate.output_tokens,
        "cost": preview.estimate.cost,
    }
