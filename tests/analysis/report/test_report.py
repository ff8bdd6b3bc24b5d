"""The report of a study folder, whole or in parts."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from seedvote.analysis.questions.comparison.verdicts import count_further
from seedvote.analysis.report.assembly import build_report, render_page
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Vote
from tests.analysis.report_study import add_scores, add_votes
from tests.house.barriers import barriers
from tests.house.typed import typed

pytestmark = pytest.mark.usefixtures("hasty_throughout")

VOID = {"meta", "link", "line", "circle", "rect", "path", "br"}


@pytest.fixture
def folder(tmp_path):
    return add_votes(tmp_path)


def made(folder, **options):
    found = build_report(read_study(folder), **options)
    return render_page(found), found.document


def test_one_vote_is_too_little_to_find_anything(tmp_path):
    (tmp_path / "votes.jsonl").write_text('{"pair": "p", "rater": "r", "choice": "a", "round": 1}\n', encoding="utf-8")
    assert "Nothing yet: the study holds too little data." in made(tmp_path)[0]


class Nesting(HTMLParser):
    """Every opened element is closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def test_the_page_holds_every_part_and_shows_model_text_literally(folder):
    written, facts = made(add_scores(folder, models=("bilstm_attn", "hred")))
    assert "<strong>All 90 votes are simulated: programs cast them, not people.</strong>" in written
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &lt;unk&gt;" in written and written.count("<script") == 1
    for heading in (
        "What was found", "Which is preferred", "How many ties", "People and probe tasks on the same axes",
        "Probes and their baselines", "Where the variance comes from", "Agreement and raters",
        "What would make the results more certain", "What this study cannot tell", "What was done", "What reviewers "
        "ask",
        "What the models answer", "Everything else, by question",
    ):  # fmt: skip
        assert f">{heading}" in written, heading
    assert "tasks:AllSlots|v:0" in written and "votes:96|v:0" in written
    assert "Votes were cast from 2026-11-01 to 2026-11-03." in written
    assert "Do 3 seeds of bilstm_attn differ?" in written
    parser = Nesting()
    parser.feed(written)
    assert parser.open == []
    json.dumps(facts, allow_nan=False)


def test_findings_mention_baselines_and_few_seeds(folder):
    facts = made(add_scores(folder))[1]
    preferred, ties, _, seeds, probes = facts["findings"]
    assert preferred.startswith("No preference was shown in any of 3 comparisons")
    assert ties.startswith("33.3 % of 90 votes are ties (95 % interval 9.1 % to 71.4 %)")
    assert "too few seeds to rank the SDs" in seeds
    assert probes.startswith(
        "With these seeds, no trained encoder is shown to beat every baseline and untrained encoder"
    )
    assert any("fit on the validation split" in sentence for sentence in facts["limitations"])


def test_equivalence_is_claimed_only_against_a_margin_that_was_stated(folder):
    assert "No equivalence margin was stated" in made(folder)[0]
    wide = made(folder, margin=0.9)[0]
    assert "are equivalent within 90 points" in wide and "No margin" not in wide
    assert "are not shown to be equivalent within 0.1 points" in made(folder, margin=0.001)[0]


def test_votes_of_our_own_pages_without_pairs_are_not_taken_for_systems(folder):
    for name in ("pairs.jsonl", "raters.jsonl", "responses.jsonl"):
        (folder / name).unlink()
    written, facts = made(folder)
    assert facts["methods"] == [] and 'id="preferred"' not in written and 'id="probes"' not in written
    assert "the votes cannot be traced to models and seeds" in written and "How many ties" in written


def test_imported_votes_without_pairs_are_of_a_and_b(tmp_path):
    folder = add_votes(tmp_path, source="imported")
    (folder / "pairs.jsonl").unlink()
    written = made(folder)[0]
    assert "a and b are taken to be the same two systems in every pair" in written
    assert "simulated: programs cast" not in written


def test_a_study_of_scores_alone_says_that_nobody_voted(tmp_path):
    written, facts = made(add_scores(tmp_path, models=("hred", "seq2seq")))
    assert facts["limitations"][0].startswith("There are no votes here")
    assert "What do probes and metrics say?" in written and 'id="raters"' not in written and 'id="ties"' not in written
    assert facts["orders"][0]["flips"]["raters"] is None
    assert facts["findings"][0].startswith("The median SD over training seeds is")
    assert "could flip in a re-run with new seeds and items (chance above 10 %)" in facts["findings"][-1]


def test_one_seed_is_said_to_tell_nothing_of_others(tmp_path):
    written, facts = made(add_scores(tmp_path, seeds=1, models=("hred", "seq2seq")))
    assert "One seed each of hred, seq2seq: the effect of a new training run is unknown." in written
    assert "each architecture has one seed, so the effect of new seeds on their order is unknown" in written
    assert facts["methods"][0]["sd"] is None and facts["orders"][0]["flips"]["everything"] is None


def test_without_baselines_and_controls_nothing_is_claimed_of_them(tmp_path):
    folder = add_scores(add_votes(tmp_path, controls=False), baseline=False)
    written, facts = made(folder)
    assert "best baseline" not in written and "Ties on control pairs" not in written
    assert any(sentence.startswith("No control pairs were judged") for sentence in facts["limitations"])
    assert any("beats every untrained encoder (there are no baselines)" in s for s in facts["findings"])


def test_one_vote_and_one_pair_are_counted_in_the_singular(tmp_path):
    lines = ['{"format": "votes", "version": 1}', '{"pair": "p", "rater": "r", "choice": "tie", "round": 1}']
    (tmp_path / "votes.jsonl").write_text("\n".join(lines) + "\n")
    written = made(tmp_path)[0]
    assert "1 pair of responses was judged once, by 1 rater with 1 vote each" in written
    assert "<dt>vote</dt><dd>1</dd>" in written


def test_two_votes_on_one_pair_agree_or_not_without_any_interval(tmp_path):
    rows = [{"pair": "p", "rater": f"r{k}", "choice": choice, "round": k} for k, choice in ((1, "a"), (2, "tie"))]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "(no interval)" in made(tmp_path)[0]


def test_all_ties_and_one_rater_still_make_a_report(tmp_path):
    lines = ['{"format": "votes", "version": 1}']
    lines += [f'{{"pair": "p{n}", "rater": "r", "choice": "tie", "round": 1}}' for n in range(40)]
    (tmp_path / "votes.jsonl").write_text("\n".join(lines) + "\n")
    written, facts = made(tmp_path)
    assert facts["findings"][0].startswith("No preference between a and b was shown")
    assert "100.0 % of 40 votes are ties" in facts["findings"][1]
    assert "nan" not in written.lower().replace("finance", "")


def test_no_rater_appears_in_anything_that_is_written(folder):
    """Not even by pseudonym: a payment table could lead from it to a person."""
    done = typed("analysis", "report", folder)
    assert done.returncode == 0, done.stderr
    names = {f"a1b2c3d4e5f6a7b8c9d{n}" for n in range(9)}
    for name in ("votes.jsonl", "raters.jsonl"):
        path, text = folder / name, (folder / name).read_text()
        for n in range(9):
            text = text.replace(f'"rater": "r{n}"', f'"rater": "a1b2c3d4e5f6a7b8c9d{n}"')
        path.write_text(text)
    (folder / "payments.csv").write_text("worker,pay\nA3SECRETWORKER,1.20\n")
    done = typed("analysis", "report", folder)
    assert done.returncode == 0, done.stderr
    for suffix in ("html", "md", "tex", "json"):
        written = (folder / f"report.{suffix}").read_text()
        assert not [name for name in names if name in written] and "A3SECRETWORKER" not in written


def test_a_folder_without_votes_or_scores_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds neither votes.jsonl nor a score table. .*crowd serve .*probes run"):
        read_study(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        read_study(tmp_path / "none")


def test_the_command_writes_the_page_and_what_goes_with_it(folder):
    done = typed("analysis", "report", folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "report.json").read_text())["version"]
    assert (folder / "report.html").exists() and (folder / "report.md").exists() and (folder / "report.tex").exists()


def test_what_is_not_in_the_sentence_is_counted_with_its_noun():
    assert [count_further(ways) for ways in (0, 1, 2)] == [
        "", "; 1 more evaluator is in the table", "; 2 more evaluators are in the table"
    ]  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize(
    ("parts", "width"),
    [
        ("votes", 1280),
        ("scores", 390),
        pytest.param("one seed", 390, marks=pytest.mark.slow),
        pytest.param("votes", 390, marks=pytest.mark.slow),
        pytest.param("scores", 1280, marks=pytest.mark.slow),
        pytest.param("one seed", 1280, marks=pytest.mark.slow),
    ],
)
def test_the_page_of_a_part_of_a_study_is_accessible_and_fits(chromium, tmp_path, parts, width):
    assert barriers_of_page(chromium, tmp_path, parts, [width]) == []


@pytest.mark.browser
def test_the_page_of_a_whole_study_is_accessible_and_fits(chromium, tmp_path):
    assert barriers_of_page(chromium, tmp_path, "everything", [1280, 390]) == []


def barriers_of_page(chromium, tmp_path, parts, widths):
    if parts in ("everything", "votes"):
        add_votes(tmp_path)
    if parts != "votes":
        add_scores(
            tmp_path, seeds=1 if parts == "one seed" else 3, models=("bilstm_attn", "a_rather_long_name_of_a_model")
        )
    path = tmp_path / "report.html"
    path.write_text(made(tmp_path)[0], encoding="utf-8")
    view = chromium.new_page(viewport={"width": 1280, "height": 900})
    view.goto(path.as_uri())
    found = [one for width in widths for one in barriers(view, "light", width)]
    view.close()
    return found


@pytest.mark.browser
def test_the_first_screen_holds_the_findings_and_the_main_picture(chromium, folder):
    path = folder / "report.html"
    path.write_text(made(add_scores(folder))[0], encoding="utf-8")
    view = chromium.new_page(viewport={"width": 1280, "height": 900})
    view.goto(path.as_uri())
    bottom = "e => e.getBoundingClientRect().bottom"
    assert view.locator(".findings li").first.evaluate(bottom) < 900
    assert view.locator(".screen figure .unit").first.evaluate(bottom) < 900
    view.close()


def add_choices(folder, pairs):
    """A table of votes by raters r0, r1, ...: one list of choices a pair."""
    rows = [
        {"pair": f"p{n}", "rater": f"r{k}", "choice": choice, "round": k + 1, "source": "imported"}
        for n, choices in enumerate(pairs)
        for k, choice in enumerate(choices)
    ]
    (folder / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_votes_on_one_pair_have_no_agreement_interval(tmp_path):
    written, facts = made(add_choices(tmp_path, [["a", "b", "tie", "a"]]))
    assert facts["agreement"]["fleiss_kappa"]["low"] is None
    assert "(no interval)" in written


def test_nobody_is_called_the_leader_of_an_even_comparison(tmp_path):
    facts = made(add_choices(tmp_path, [["a", "b", "tie"]] * 6))[1]
    assert facts["findings"][0].startswith(
        "No preference between a and b was shown: both got the same number of votes (95 % interval "
    )
    assert not any("ahead of" in sentence or "leads" in sentence for sentence in facts["findings"] + facts["advice"])


def test_nobody_leads_where_every_comparison_is_even(tmp_path):
    study = add_votes(tmp_path)
    votes = [replace(v, choice=("a", "b", "tie")[v.round - 1]) for v in read_records(study / "votes.jsonl", Vote)]
    write_records(study / "votes.jsonl", votes, signature="even|v:0", kind=Vote)
    assert made(study)[1]["findings"][0] == (
        "No preference was shown in any of 3 comparisons of two systems: in each, both systems got the same number of "
        "votes."
    )


def test_report_says_what_one_architecture_cannot_tell(folder):
    assert (
        "One architecture (bilstm_attn): these results say nothing about other architectures."
        in made(folder)[1]["limitations"]
    )
    votes = list(read_records(folder / "votes.jsonl", Vote))[:1]
    write_records(folder / "votes.jsonl", votes, signature="one|v:0", kind=Vote)
    facts = made(folder)[1]
    assert "The one vote was cast by a program and says nothing about the models." in facts["limitations"]


def test_probes_of_other_architectures_are_kept_apart(folder):
    finding = next(s for s in made(add_scores(folder, models=("hred",)))[1]["findings"] if "probe tasks" in s)
    assert finding.startswith("Over 3 seeds of bilstm_attn, the SD of people's preference is")
    assert "The median SD over training seeds is" in finding and "The median SD is" not in finding


def test_two_models_whose_names_end_in_numbers_are_no_seeds_of_one(folder):
    def renamed(side):
        return replace(side, model=f"gpt-{3 + side.seed}", seed=None)

    pairs = [replace(p, a=renamed(p.a), b=renamed(p.b)) for p in read_records(folder / "pairs.jsonl", Pair)]
    write_records(folder / "pairs.jsonl", pairs, signature="named|v:0", kind=Pair)
    assert made(folder)[1]["title"] == "Which of 3 systems is preferred?"


@pytest.mark.browser
def test_a_click_unfolds_sorts_and_a_pointer_tells_the_value(chromium, folder):
    path = folder / "report.html"
    path.write_text(made(add_scores(folder))[0], encoding="utf-8")
    view = chromium.new_page(viewport={"width": 1280, "height": 900})
    view.goto(path.as_uri())
    strip = view.locator(".answering .strip").first
    strip.hover()
    assert view.locator("#value").inner_text().startswith("bilstm_attn-0 over bilstm_attn-1: ")
    assert view.locator("details[open]").count() == 0
    view.click("#unfold")
    assert view.locator("details:not([open])").count() == 0
    column = "rows => rows.map(row => row.cells[0].textContent)"
    rows = view.locator("#preferred tbody").nth(1).locator("tr")
    before = rows.evaluate_all(column)
    head = view.locator("#preferred thead").nth(1).locator("th").first
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending" and rows.evaluate_all(column) == sorted(before)
    head.locator("button").click()
    assert rows.evaluate_all(column) == sorted(before, reverse=True)
    assert barriers(view, "dark", 1280) == []
    view.close()


@pytest.mark.browser
def test_a_link_and_print_open_what_is_folded(chromium, folder):
    path = folder / "report.html"
    path.write_text(made(folder)[0], encoding="utf-8")
    view = chromium.new_page(viewport={"width": 1280, "height": 900})
    view.goto(f"{path.as_uri()}#ties")
    assert view.locator("details[open]").evaluate_all("all => all.map(one => one.id)") == ["ties"]
    view.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert view.locator("details:not([open])").count() == 0
    view.evaluate("dispatchEvent(new Event('afterprint'))")
    assert view.locator("details[open]").count() == 1
    view.close()
