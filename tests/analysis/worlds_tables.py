"""One truth in the forms in which other tools write it: 101 for alpha, 37 for beta, 62 ties, net preference +.320.

The sides are drawn by chance, so that whoever takes a column, a letter or a place for a system gets about nothing. The
forms follow the tools' own documentation and code; the content is invented.
"""

import csv
import gzip
import io
import json
from random import Random

import pandas as pd

WON = ("alpha",) * 101 + ("beta",) * 37 + ("tie",) * 62
RATERS = 20


def truth():
    """(number, rater, who won, who stood first)."""
    rng = Random(7)
    won = list(WON)
    rng.shuffle(won)
    return [(n, f"person-{n % RATERS:02}", name, rng.choice(["alpha", "beta"])) for n, name in enumerate(won)]


def other(system):
    return "beta" if system == "alpha" else "alpha"


def word(won, first, words):
    return words[2] if won == "tie" else words[0] if won == first else words[1]


def stamp(n):
    return f"2026-01-05T10:{n // 60:02}:{n % 60:02}Z"


def arena(ties=("tie", "tie (bothbad)")):
    """LMSYS's battles: https://huggingface.co/datasets/lmsys/chatbot_arena_conversations."""
    talk = [{"role": "user", "content": "Hi, there"}, {"role": "assistant", "content": 'A "quote"; and\na line'}]
    return [
        {"question_id": f"q{n}", "model_a": first, "model_b": other(first),
         "winner": word(won, first, ("model_a", "model_b", ties[n % len(ties)])), "judge": rater,
         "conversation_a": talk, "conversation_b": talk, "turn": 1, "anony": True, "language": "English",
         "tstamp": 1.7e9 + n}
        for n, rater, won, first in truth()
    ]  # fmt: skip


def arena_in_three_columns():
    """The form of the arena's competition: three columns, one of which is 1, and nobody named."""
    return [
        {"id": n, "model_a": first, "model_b": other(first), "prompt": "Hi", "response_a": "x", "response_b": "y",
         "winner_model_a": int(won == first), "winner_model_b": int(won == other(first)),
         "winner_tie": int(won == "tie")}
        for n, _, won, first in truth()
    ]  # fmt: skip


def label_studio(tie="tie"):
    """The JSON export of a project with a Pairwise control, and a Choices control that offers the tie."""
    tasks = []
    for n, rater, won, first in truth():
        side = {"from_name": "pw", "to_name": "left,right", "type": "pairwise",
                "value": {"selected": word(won, first, ("left", "right", ""))}}  # fmt: skip
        same = {"from_name": tie, "to_name": "left", "type": "choices", "value": {"choices": ["Tie"]}}
        one = {"id": n, "completed_by": int(rater[-2:]), "result": [same if won == "tie" else side],
               "was_cancelled": False, "created_at": stamp(n), "lead_time": 4.2, "ground_truth": False}  # fmt: skip
        data = {"model_left": first, "model_right": other(first), "left": "x", "right": "y"}
        tasks.append({"id": n, "data": {k: v for k, v in data.items() if "model" in k}, "annotations": [one]})
    return tasks


def label_studio_letters():
    """The same where the task's data say model_a and model_b, and the answer a place."""
    tasks = label_studio()
    for task in tasks:
        task["data"] = {"model_a": task["data"]["model_left"], "model_b": task["data"]["model_right"]}
    return tasks


def label_studio_csv():
    """The same as the CSV export writes it: a column of bare words for each control."""
    words = ("left", "right", "")
    return [
        {"annotation_id": n, "annotator": rater, "created_at": stamp(n), "id": n, "lead_time": 4.2,
         "model_left": first, "model_right": other(first), "pw": word(won, first, words),
         "same": "Tie" if won == "tie" else "", "updated_at": stamp(n)}
        for n, rater, won, first in truth()
    ]  # fmt: skip


def mturk(columns=("Input.model_a", "Input.model_b"), words=("A", "B", "Tie")):
    """Results of a batch, with the models of each HIT in its input."""
    return [
        {"HITId": f"H{n}", "AssignmentId": f"A{n}", "WorkerId": rater, "AssignmentStatus": "Approved",
         "SubmitTime": f"Mon Nov 16 12:{n // 60:02}:{n % 60:02} PST 2020", "WorkTimeInSeconds": 12,
         columns[0]: first, columns[1]: other(first), "Answer.better": word(won, first, words),
         "Approve": "", "Reject": ""}
        for n, rater, won, first in truth()
    ]  # fmt: skip


def argilla():
    """Records as `dataset.records.to_json` writes them."""
    return [
        {"id": f"rec-{n}", "status": "completed", "_server_id": f"s{n}",
         "fields": {"prompt": "Hi", "response_a": "x", "response_b": "y"},
         "metadata": {"model_a": first, "model_b": other(first)}, "suggestions": {},
         "responses": {"better": [{"value": word(won, first, ("Response A", "Response B", "Tie")), "user_id": rater}]},
         "vectors": {}}
        for n, rater, won, first in truth()
    ]  # fmt: skip


def argilla_flat():
    """The same as `to_list(flatten=True)` gives it."""
    return [
        {"id": one["id"], "status": "completed", **one["fields"], **one["metadata"],
         "better.responses": [one["responses"]["better"][0]["value"]],
         "better.responses.users": [one["responses"]["better"][0]["user_id"]],
         "better.responses.status": ["submitted"], "better.suggestion": "Response A"}
        for one in argilla()
    ]  # fmt: skip


def survey():
    """People x ten questions, with the system that stood first in each question, the same for everybody."""
    rows = truth()
    first = ["alpha" if k % 2 else "beta" for k in range(10)]
    answers = [[word(rows[10 * person + k][2], first[k], ("Response 1", "Response 2", "About the same"))
                for k in range(10)] for person in range(RATERS)]  # fmt: skip
    return first, answers


def survey_key(columns):
    first, _ = survey()
    return [
        {"column": column, "pair": f"p{k}", "system_a": first[k], "system_b": other(first[k])}
        for k, column in enumerate(columns)
    ]


def qualtrics():
    """A CSV export: three header rows, a preview and a survey that was broken off."""
    _, answers = survey()
    names = ["StartDate", "EndDate", "Status", "Progress", "Finished", "RecordedDate", "ResponseId"]
    questions = [f"Q{k + 1}" for k in range(10)]
    head = [[*names, *questions], ["Start Date", *names[1:], *(f"Which is better, {k}?" for k in range(10))],
            [json.dumps({"ImportId": name}) for name in (*names, *questions)]]  # fmt: skip
    day = "2026-01-05 10:00:00"
    body = [[day, day, "IP Address", "100", "True", day, f"R_{k}", *row] for k, row in enumerate(answers)]
    body.append([day, day, "Survey Preview", "100", "True", day, "R_x", *["Response 1"] * 10])
    body.append([day, day, "IP Address", "40", "False", day, "R_y", *["Response 2"] * 4, *[""] * 6])
    return [*head, *body]


def google_forms():
    """A sheet of answers: every question has the same words, as a form repeats them."""
    _, answers = survey()
    head = ["Timestamp", *["Which response is better?"] * 10]
    return [head, *[[f"1/5/2026 10:00:{k:02}", *row] for k, row in enumerate(answers)]]


def likert():
    """Long ratings on five points: the winner has one or two more."""
    rows = []
    for n, rater, won, first in truth():
        for system in (first, other(first)):
            score = 3 if won == "tie" else 3 + n % 2 + (1 if won == system else 0)
            rows.append({"rater": rater, "item": f"i{n}", "system": system, "score": score})
    return rows


def ranks():
    """Ranks of the two systems, one column each; equal ranks are a tie."""
    return [
        {
            "item": f"i{n}",
            "rater": rater,
            "rank_alpha": 2 if won == "beta" else 1,
            "rank_beta": 2 if won == "alpha" else 1,
        }
        for n, rater, won, _ in truth()
    ]


def orders():
    """The same as `alpha > beta`."""
    shown = {"alpha": "alpha > beta", "beta": "beta>alpha", "tie": "alpha = beta"}
    return [{"rater": rater, "ranking": f"{shown[won]} > zero"} for _, rater, won, _ in truth()]


def plain(**more):
    """A plain table of votes with the two systems."""
    return [
        {"pair": f"p{n}", "rater": rater, "system_a": first, "system_b": other(first),
         "choice": word(won, first, ("a", "b", "tie")), **more}
        for n, rater, won, first in truth()
    ]  # fmt: skip


def as_csv(rows, delimiter=","):
    rows = [list(rows[0]), *[list(row.values()) for row in rows]] if isinstance(rows[0], dict) else rows
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(
        [json.dumps(cell) if isinstance(cell, (list, dict)) else cell for cell in row] for row in rows
    )
    return text.getvalue()


def write(path, rows):
    """The rows in the form that the file's name says."""
    name = path.name
    if name.endswith(".xlsx"):
        pd.DataFrame(rows).to_excel(path, index=False)
    elif name.endswith(".dta"):
        pd.DataFrame(rows).to_stata(path, write_index=False)
    elif name.endswith(".parquet"):
        pd.DataFrame(rows).to_parquet(path)
    elif name.endswith(".json"):
        path.write_text(json.dumps(rows))
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name.endswith(".csv.gz"):
        path.write_bytes(gzip.compress(as_csv(rows).encode()))
    else:
        path.write_text(as_csv(rows, "\t" if name.endswith(".tsv") else ","))
    return path
