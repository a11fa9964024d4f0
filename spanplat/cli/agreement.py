"""The command ``agreement``: compare two campaigns."""

from collections.abc import Sequence
from typing import Literal

import click

from spanplat.cli.database import open_database
from spanplat.cli.options import filter_options, filters_of
from spanplat.cli.output import format_cell, json_option, note, print_json, print_table, progress_bar
from spanplat.services.agreement.cautions import Cautions, find_cautions
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement
from spanplat.services.agreement.report import AgreementReport
from spanplat.services.background.parallel import heavy_work
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.settings import load_settings

RULES = "first, each, pairs, all, or group=K"


@click.command()
@click.argument("reference", metavar="REF")
@click.argument("hypothesis", metavar="HYP")
@click.option("--ref-rule", default="first", show_default=True, help=f"Annotators of REF that count: {RULES}.")
@click.option("--hyp-rule", default="first", show_default=True, help=f"Annotators of HYP that count: {RULES}.")
@click.option("--matching", type=click.Choice(["optimal", "greedy"]), default="optimal", show_default=True)
@click.option(
    "--empty",
    type=click.Choice(["include", "skip"]),
    default="include",
    show_default=True,
    help="Outputs on which neither side marked anything.",
)
@click.option("--seed", type=int, default=42, show_default=True, help="Seed of the samples behind γ and the intervals.")
@click.option("--samples", type=click.IntRange(1), default=30, show_default=True, help="Random annotations behind γ.")
@click.option("--bootstrap", type=click.IntRange(0), default=0, help="Resamples for intervals; none by default.")
@click.option("--by", type=click.Choice(["split", "dataset", "system"]), help="Add the figures of each of these.")
@click.option(
    "--offsets",
    type=click.Choice(["received", "resolved"]),
    default="received",
    show_default=True,
    help="Offsets of imported spans: as received, or where their text stands.",
)
@filter_options
@json_option
def agreement(
    *,
    reference: str,
    hypothesis: str,
    ref_rule: str,
    hyp_rule: str,
    matching: Literal["optimal", "greedy"],
    empty: Literal["include", "skip"],
    seed: int,
    samples: int,
    bootstrap: int,
    by: Literal["split", "dataset", "system"] | None,
    offsets: Literal["received", "resolved"],
    as_json: bool,
    **filters: tuple[str, ...],
) -> None:
    """Compare the spans of campaign HYP with those of campaign REF on the outputs both annotated."""
    options = AgreementOptions(
        reference_rule=ref_rule,
        hypothesis_rule=hyp_rule,
        matching=matching,
        empty=empty,
        seed=seed,
        samples=samples,
        bootstrap=bootstrap,
        by=by,
        offsets=offsets,
        filters=filters_of(**filters),
    )
    settings = load_settings()
    with open_database(settings) as database, heavy_work(settings):
        # A short session: the computation may take minutes, and opens its own sessions.
        with database.reading() as session:
            campaigns = [find_campaign(session, slug) for slug in (reference, hypothesis)]
            cautions = find_cautions(session, campaigns, options.filters)
        with progress_bar("Comparing") as on_progress:
            report = compute_agreement(database, reference, hypothesis, options, on_progress=on_progress)
    _caution(cautions)
    if as_json:
        print_json(report.as_json())
    else:
        _show(report)


def _caution(cautions: Cautions) -> None:
    for one in cautions.unfinished:
        note(
            f"{one.campaign} is not finished: {one.done} of its {one.outputs} outputs are annotated; the figures are provisional"
        )
    for own in cautions.own_categories:
        note(f"only {own.campaign} has the categories: {', '.join(own.categories)}")
    if cautions.own_categories and cautions.shared_categories:
        options = " ".join(f"--category {key}" for key in cautions.shared_categories)
        note(
            f"compare the common ones ({options}), read the soft figures, or give categories of the same meaning the same name in the "
            "definitions and import again"
        )
    elif cautions.own_categories:
        note(
            "the campaigns have no category in common: read the soft figures, or give categories of the same meaning the same name "
            "in the definitions and import again"
        )


def _show(report: AgreementReport) -> None:
    for name, side in (("reference", report.reference), ("hypothesis", report.hypothesis)):
        click.echo(f"{name}: {side.campaign} (rule {side.rule}, {side.spans} spans)")
    click.echo(
        f"outputs compared: {report.outputs} "
        f"(only in the reference {report.outputs_reference_only}, only in the hypothesis {report.outputs_hypothesis_only})"
    )
    click.echo()
    if report.measures:
        _show_pairwise(report)
    else:
        # The rule `all` has only γ and S∅: there are no two sides to match.
        print_table(("γ over all annotators", "value"), list(_gammas(report).items()))
        click.echo()
        print_table(("figure", "value"), [("S∅, agreement that there is nothing", _s_empty(report))])
    for path, reason in report.undefined.items():
        note(f"{path} is undefined: {reason}")
    note(f"signature: {report.signature}")


def _show_pairwise(report: AgreementReport) -> None:
    char, gamma, ceiling, pearson = report.measures["char"], _gammas(report), report.ceiling, report.pearson
    print_table(
        ("", "precision", "recall", "F1", "γ"),
        [
            (name, scores.micro.precision, scores.micro.recall, scores.micro.f1, gamma[name])
            for name, scores in (("hard", char.hard), ("soft", char.soft))
        ],
    )
    click.echo()
    print_table(
        ("figure", "value"),
        [
            ("S∅, agreement that there is nothing", _s_empty(report)),
            ("ρ of counts, micro", pearson.micro if pearson else None),
            ("ρ of counts, macro", pearson.macro if pearson else None),
        ],
    )

    if ceiling:
        hard, soft = (format_cell(scores.micro.f1) for scores in (ceiling.char.hard, ceiling.char.soft))
        note(
            f"annotators of {report.reference.campaign} among themselves: F1 hard {hard}, soft {soft} on {ceiling.outputs} outputs"
        )


def agreement_rows(reports: Sequence[AgreementReport]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return the header and the rows of a table with one row per comparison."""
    header = ("reference", "hypothesis", "outputs", "F1 hard", "F1 soft", "γ hard", "γ soft", "S∅", "ρ micro")
    rows: list[tuple[object, ...]] = [
        (
            report.reference.campaign,
            report.hypothesis.campaign,
            report.outputs,
            report.measures["char"].hard.micro.f1,
            report.measures["char"].soft.micro.f1,
            *_gammas(report).values(),
            _s_empty(report),
            report.pearson.micro if report.pearson else None,
        )
        for report in reports
    ]
    return header, rows


def _gammas(report: AgreementReport) -> dict[str, float | None]:
    gamma = report.gamma
    return {"hard": gamma.hard.mean if gamma else None, "soft": gamma.soft.mean if gamma else None}


def _s_empty(report: AgreementReport) -> float | None:
    return report.s_empty.mean if report.s_empty else None
